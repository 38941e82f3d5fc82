// Operations that compiled code calls through torch's dispatcher: see compiled/plain_operations.py.
//
// They are kernels of torch's C interface, so that neither they nor a call of them needs Python or
// torch's headers. A value on the stack is a number's bits or a tensor that belongs to the callee.

#include "torch.h"

#include <cstdint>
#include <cstring>
#include <utility>

extern "C" {
void turn_matrices(const float*, float*, int64_t, int64_t, int64_t);
void multiply_runs(const float*, const float*, int64_t, int64_t, int64_t, int64_t, int64_t, float*);
void multiply_runs_back(const float*, const float*, int64_t, int64_t, int64_t, int64_t, int64_t,
                        float*);
}

Torch torch;

namespace {

Layout rows_of(int64_t runs, int64_t rows, int64_t columns) {
  Layout layout;
  for (int64_t size : {runs, rows, columns}) layout.add(size);
  layout.by_rows();
  return layout;
}

// A function of one or two tensors that torch has, too.
template <const char* const* name, int64_t arguments>
void function(uint64_t* stack, uint64_t, uint64_t) {
  for (int64_t k = 0; k < arguments; k++)
    stack[k] = Tensor(stack[k]).laid_out().given_away();
  check(torch.call(name[0], name[1], stack));
}

void product(uint64_t* stack, uint64_t, uint64_t) {
  constexpr int64_t parts = 7;
  for (int64_t k = 0; k < 2; k++) {
    const uint64_t* at = stack + k * parts;
    Layout layout;
    layout.dims = 3;
    std::memcpy(layout.sizes, at + 1, sizeof(int64_t) * 3);
    std::memcpy(layout.strides, at + 4, sizeof(int64_t) * 3);
    stack[k] = Tensor(at[0]).laid_out().viewed(layout).given_away();
  }
  check(torch.call("aten::bmm", "", stack));
}

void turned(uint64_t* stack, uint64_t, uint64_t) {
  const Tensor x = Tensor(stack[0]).laid_out();
  const int64_t matrices = x.size(0), rows = x.size(1), columns = x.size(2);
  Tensor result(rows_of(matrices, columns, rows), x.type());
  if (x.type() == torch.single()) {
    turn_matrices(x.numbers(), result.numbers(), matrices, rows, columns);
  } else {
    const double* from = x.numbers<double>();
    double* to = result.numbers<double>();
    for (int64_t m = 0; m < matrices; m++)
      for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++) *to++ = from[(m * rows + r) * columns + c];
  }
  stack[0] = result.given_away();
}

void wide_product(uint64_t* stack, uint64_t, uint64_t) {
  Tensor given(stack[0]);
  // Runs may have the same inputs.
  const bool shared = given.stride(0) == 0 && given.stride(2) == 1 &&
                      given.stride(1) == given.size(2);
  const Tensor x = shared ? std::move(given) : given.laid_out(), w = Tensor(stack[1]).laid_out();
  const int64_t runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = w.size(1);
  Tensor result(rows_of(runs, outputs, batch));
  const float *from = x.numbers(), *weights = w.numbers();
  float* to = result.numbers();
  for (int64_t r = 0; r < runs; r++)
    multiply_runs(from + (shared ? 0 : r * batch * inputs), weights + r * inputs * outputs, 1,
                  batch, inputs, outputs, true, to + r * batch * outputs);
  stack[0] = result.given_away();
}

void wide_gradient(uint64_t* stack, uint64_t, uint64_t) {
  const Tensor x = Tensor(stack[0]).laid_out(), rows = Tensor(stack[1]).laid_out();
  const int64_t runs = x.size(0), batch = x.size(1), inputs = x.size(2), outputs = rows.size(1);
  Tensor result(rows_of(runs, outputs, inputs));
  multiply_runs_back(x.numbers(), rows.numbers(), runs, batch, inputs, outputs, true,
                     result.numbers());
  stack[0] = result.given_away();
}

// The order in which torch sums numbers that follow one another: four vectors side by side, then
// what is left of vectors; what is left of numbers, and then lane after lane.
template <int64_t lanes>
float sum_in_vectors(const float* x, int64_t count) {
  constexpr int64_t side = 4;
  float sums[side][lanes] = {};
  const int64_t vectors = count / lanes, whole = vectors / side * side;
  for (int64_t v = 0; v < whole; v += side)
    for (int64_t s = 0; s < side; s++)
      for (int64_t k = 0; k < lanes; k++) sums[s][k] += x[(v + s) * lanes + k];
  for (int64_t v = whole; v < vectors; v++)
    for (int64_t k = 0; k < lanes; k++) sums[0][k] += x[v * lanes + k];
  for (int64_t s = 1; s < side; s++)
    for (int64_t k = 0; k < lanes; k++) sums[0][k] += sums[s][k];
  float sum = 0;
  for (int64_t k = vectors * lanes; k < count; k++) sum += x[k];
  for (int64_t k = 0; k < lanes; k++) sum += sums[0][k];
  return sum;
}

void row_sum(uint64_t* stack, uint64_t, uint64_t) {
  const Tensor x = Tensor(stack[0]).laid_out();
  const int64_t lanes = stack[1], runs = x.size(0);
  int64_t count = 1;
  for (int64_t d = 1; d < x.dims(); d++) count *= x.size(d);
  Layout layout;
  layout.add(runs);
  layout.by_rows();
  Tensor result(layout);
  const auto one = lanes == 16 ? sum_in_vectors<16> : sum_in_vectors<8>;
  const float* numbers = x.numbers();
  float* sums = result.numbers();
  for (int64_t r = 0; r < runs; r++) sums[r] = one(numbers + r * count, count);
  stack[0] = result.given_away();
}

#define NAMES(name, overload) \
  constexpr const char* k_##name[] = {"aten::" #name, overload};
NAMES(exp, "")
NAMES(log, "")
NAMES(cos, "")
NAMES(sin, "")
NAMES(tanh, "")
NAMES(sigmoid, "")
NAMES(tanh_backward, "")
NAMES(pow, "Tensor_Tensor")

const struct {
  const char* name;
  Kernel kernel;
} kKernels[] = {
    {"exp", function<k_exp, 1>},
    {"log", function<k_log, 1>},
    {"cos", function<k_cos, 1>},
    {"sin", function<k_sin, 1>},
    {"tanh", function<k_tanh, 1>},
    {"sigmoid", function<k_sigmoid, 1>},
    {"tanh_backward", function<k_tanh_backward, 2>},
    {"power", function<k_pow, 2>},
    {"product", product},
    {"turned", turned},
    {"wide_product", wide_product},
    {"wide_gradient", wide_gradient},
    {"row_sum", row_sum},
};

}  // namespace

// Takes over the functions of torch.h; returns whether these are all.
extern "C" int64_t find_torch(const void* const* functions, int64_t count) {
  if (count * sizeof(void*) != sizeof torch) return 0;
  std::memcpy(&torch, functions, sizeof torch);
  return 1;
}

// Lets torch call these kernels; returns whether it took all of them.
extern "C" int64_t register_operations() {
  Handle own;
  if (torch.library("stable_nalu", "CPU", __FILE__, __LINE__, &own)) return 0;
  for (const auto& one : kKernels)
    if (torch.implement(own, one.name, one.kernel)) return 0;
  return 1;
}
