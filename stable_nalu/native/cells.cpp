// Steps of LSTMs, and their gradients, with the bits of torch.

#include <cmath>
#include <cstdint>

namespace {

// Steps of LSTMs with two states, which have eight gates: those of c and h are written, kept, new
// and shown. Activated, they are four planes of (runs, rows, 2), in this order.
constexpr int64_t kSize = 2, kWidth = 4 * kSize;
typedef float Gates __attribute__((vector_size(kWidth * sizeof(float)), aligned(4)));

// The sum of values[k] weights[k], added one after another, then the bias.
inline Gates weigh(const float* values, int64_t count, const Gates* weights, Gates bias) {
  Gates sum = values[0] * weights[0];
  for (int64_t k = 1; k < count; k++) sum += values[k] * weights[k];
  return sum + bias;
}

void activate(float* gates, int64_t count) {
  for (int64_t k = 0; k < count; k++) gates[k] = std::exp(-gates[k]);
  for (int64_t k = 0; k < count; k++) gates[k] = 1.0f / (1.0f + gates[k]);
}

}  // namespace

// The gates of a step, activated but for the new ones, which torch does. Each run has weights
// (inputs, 8) and (2, 8), and biases of 8. x has the given strides from run to run and from row to
// row; h is (runs, rows, 2).
extern "C" void lstm_gates(int64_t runs, int64_t rows, int64_t inputs, const float* x,
                           int64_t x_run, int64_t x_row, const float* h, const Gates* input_weights,
                           const Gates* hidden_weights, const Gates* input_bias,
                           const Gates* hidden_bias, float* __restrict gates) {
  const int64_t plane = runs * rows * kSize;
  for (int64_t r = 0; r < runs; r++) {
    const Gates *w = input_weights + r * inputs, *u = hidden_weights + r * kSize;
    for (int64_t b = 0; b < rows; b++) {
      const int64_t row = (r * rows + b) * kSize;
      const Gates sum = weigh(x + r * x_run + b * x_row, inputs, w, input_bias[r]) +
                        weigh(h + row, kSize, u, hidden_bias[r]);
      for (int64_t k = 0; k < kWidth; k++) gates[k / kSize * plane + row + k % kSize] = sum[k];
    }
  }
  activate(gates, 2 * plane);
  activate(gates + 3 * plane, plane);
}

// Gradients of a step: dh and dc of the state behind it become those of the state before it; the
// last step has no dc. hidden_weights are (runs, 8, 2), of_gates (runs, rows, 8).
extern "C" void lstm_slopes(int64_t runs, int64_t rows, int64_t last, const float* gates,
                            const float* c, const float* tanh_c, const float* hidden_weights,
                            float* __restrict dh, float* __restrict dc,
                            float* __restrict of_gates) {
  const int64_t plane = runs * rows * kSize;
  const float *write = gates, *keep = gates + plane, *fresh = keep + plane, *show = fresh + plane;
  for (int64_t r = 0; r < runs; r++) {
    const float* u = hidden_weights + r * kWidth * kSize;
    for (int64_t b = 0; b < rows; b++) {
      const int64_t row = (r * rows + b) * kSize;
      float* own = of_gates + 4 * row;
      for (int64_t k = 0; k < kSize; k++) {
        const int64_t n = row + k;
        // Torch rounds the slope of tanh once, and that of sigmoid twice.
        const float through = dh[n] * show[n] * std::fma(-tanh_c[n], tanh_c[n], 1.0f);
        const float of_c = last ? through : dc[n] + through;
        own[k] = of_c * fresh[n] * (1.0f - write[n]) * write[n];
        own[kSize + k] = of_c * c[n] * (1.0f - keep[n]) * keep[n];
        own[2 * kSize + k] = of_c * write[n] * std::fma(-fresh[n], fresh[n], 1.0f);
        own[3 * kSize + k] = dh[n] * tanh_c[n] * (1.0f - show[n]) * show[n];
        dc[n] = of_c * keep[n];
      }
      for (int64_t k = 0; k < kSize; k++) {
        float sum = own[0] * u[k];
        for (int64_t j = 1; j < kWidth; j++) sum += own[j] * u[j * kSize + k];
        dh[row + k] = sum;
      }
    }
  }
}

// What dh and dc, gradients of the state behind a step, make of its gates' inputs, and of the state
// before it through its cell, of any size: activated gates and what is found are (rows, 4 size),
// the others (rows, size). Of each run, `rows` of `all` are those of the step; those of dh, dc and
// kept, which is what dc becomes, adjoin.
extern "C" void lstm_changes(int64_t runs, int64_t rows, int64_t all, int64_t size,
                             const float* gates, const float* c, const float* tanh_c,
                             const float* dh, const float* dc, float* __restrict found,
                             float* __restrict kept) {
  for (int64_t r = 0; r < runs; r++)
    for (int64_t b = 0; b < rows; b++) {
      const int64_t at = (r * all + b) * size, own = (r * rows + b) * size;
      const float *write = gates + 4 * at, *keep = write + size, *fresh = keep + size;
      const float* show = fresh + size;
      float* of = found + 4 * at;
      for (int64_t k = 0; k < size; k++) {
        const float of_c = dc[own + k], i = write[k], f = keep[k], g = fresh[k], o = show[k];
        of[k] = (i - i * i) * g * of_c;
        of[size + k] = (f - f * f) * c[at + k] * of_c;
        of[2 * size + k] = (1.0f - g * g) * i * of_c;
        of[3 * size + k] = (o - o * o) * tanh_c[at + k] * dh[own + k];
        kept[own + k] = of_c * f;
      }
    }
}
