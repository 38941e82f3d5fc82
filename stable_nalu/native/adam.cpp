// Steps of Adam, with the bits of torch.

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

}  // namespace

// The first half of a step of Adam: weight is 1 - beta_1, decay beta_2, and rest 1 - beta_2.
extern "C" void adam_averages(const float* gradient, float* averages, float* squares,
                              int64_t count, float weight, float decay, float rest,
                              int64_t fused) {
  (fused ? average<true> : average<false>)(gradient, averages, squares, count, weight, decay, rest);
}

// The other half, given the roots of the squares, which torch takes in a way of its own.
extern "C" void adam_update(float* __restrict parameter, const float* __restrict averages,
                            const float* __restrict roots, int64_t count, float correction,
                            float epsilon, float rate) {
  for (int64_t k = 0; k < count; k++)
    parameter[k] += (rate * averages[k]) / (roots[k] / correction + epsilon);
}
