// Steps of Adam, with the bits of torch.

#include "torch.h"

#include <cstdint>

namespace {

// Adam's averages of gradients and of their squares; torch rounds each once where it can.
template <bool fused>
void average(const float* __restrict gradient, float* __restrict averages,
             float* __restrict squares, int64_t count, float weight, float decay, float rest) {
  const auto add = [](float product, float factor, float sum) {
    return fused ? __builtin_fmaf(product, factor, sum) : product * factor + sum;
  };
  for (int64_t k = 0; k < count; k++) {
    const float g = gradient[k];
    averages[k] = add(weight, g - averages[k], averages[k]);
    squares[k] = add(rest * g, g, squares[k] * decay);
  }
}

void update(float* __restrict parameter, const float* __restrict averages,
            const float* __restrict roots, int64_t count, float correction, float epsilon,
            float rate) {
  for (int64_t k = 0; k < count; k++)
    parameter[k] += (rate * averages[k]) / (roots[k] / correction + epsilon);
}

// A parameter and its state, which stay where they are, and what changes with each step; the
// optimizer packs them.
struct Part {
  float *parameter, *averages, *squares;
  int64_t count;
  const float* gradient;
  double correction, rate;
};

}  // namespace

// A step of all parameters that have a gradient: weight is 1 - beta_1, decay beta_2, and rest
// 1 - beta_2. Torch takes roots in a way of its own.
extern "C" void adam_steps(const Part* parts, int64_t count, float weight, float decay, float rest,
                           float epsilon, int64_t fused) {
  for (const Part* one = parts; one < parts + count; one++) {
    if (!one->gradient) continue;
    (fused ? average<true> : average<false>)(one->gradient, one->averages, one->squares,
                                             one->count, weight, decay, rest);
    uint64_t stack[] = {Tensor(one->squares, one->count).given_away()};
    check(torch.call("aten::sqrt", "", stack));
    const Tensor roots(stack[0]);
    update(one->parameter, one->averages, roots.numbers(), one->count,
           static_cast<float>(one->correction), epsilon, static_cast<float>(-one->rate));
  }
}
