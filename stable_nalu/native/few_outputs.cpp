// Products of the matrices of many runs, with the bits of torch.

#include <cstdint>

namespace {

constexpr int64_t kLanes = 8;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef float Pair __attribute__((vector_size(2 * kLanes * sizeof(float))));
typedef float Half __attribute__((vector_size(kLanes / 2 * sizeof(float))));

typedef float Single __attribute__((vector_size(sizeof(float))));

template <class Vector>
inline Vector vector_at(const float* numbers) {
  Vector vector;
  __builtin_memcpy(&vector, numbers, sizeof vector);
  return vector;
}

// The same, read once: GCC reads them again for each product, and reads bound the loops below.
template <class Vector>
inline Vector loaded(const float* numbers) {
  Vector vector = vector_at<Vector>(numbers);
#ifdef __AVX__
  if constexpr (sizeof vector > sizeof(float)) __asm__("" : "+x"(vector));
#endif
  return vector;
}

// The same four numbers of four vectors, side by side.
struct Square {
  Half columns[4];
};

inline Square turned(const Half& a, const Half& b, const Half& c, const Half& d) {
  const Half ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Half cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Half ab_rest = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Half cd_rest = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return {{__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
           __builtin_shufflevector(ab_rest, cd_rest, 0, 1, 4, 5),
           __builtin_shufflevector(ab_rest, cd_rest, 2, 3, 6, 7)}};
}

// Lanes of one vector, the later half added to the first.
inline Half halved(const Lanes& v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}

// Eight lanes, summed in halves.
inline float sum_of(const Lanes& v) {
  const Half four = halved(v);
  const Half two = four + __builtin_shufflevector(four, four, 2, 3, 2, 3);
  return two[0] + two[1];
}

// The same of four vectors.
inline Half sums_of(const Lanes* v) {
  const auto [one] = turned(halved(v[0]), halved(v[1]), halved(v[2]), halved(v[3]));
  return (one[0] + one[2]) + (one[1] + one[3]);
}

// Strides of a matrix with a number for each sample or input, and each output.
struct Places {
  int64_t row, output;
};

// y of x (rows, inputs) and w (outputs, inputs), each number summed in eight lanes, which are summed
// in halves, and then what is left over: the order of torch for few outputs.
template <int64_t outputs>
void multiply_row(const float* x, const float* w, int64_t inputs, float* y, Places at) {
  const int64_t whole = inputs / kLanes * kLanes;
  for (int64_t o = 0; o < outputs; o++, w += inputs) {
    Lanes lanes = {};
    for (int64_t k = 0; k < whole; k += kLanes)
      lanes += vector_at<Lanes>(x + k) * vector_at<Lanes>(w + k);
    float sum = sum_of(lanes);
    for (int64_t k = whole; k < inputs; k++) sum += x[k] * w[k];
    y[o * at.output] = sum;
  }
}

// The same of four rows, which share vectors of w and what follows their lanes.
template <int64_t outputs>
void multiply_rows(const float* x, const float* w, int64_t inputs, float* y, Places at) {
  constexpr int64_t rows = 4;
  const int64_t whole = inputs / kLanes * kLanes;
  Lanes lanes[outputs][rows] = {};
  for (int64_t k = 0; k < whole; k += kLanes) {
    Lanes of_w[outputs];
    for (int64_t o = 0; o < outputs; o++) of_w[o] = loaded<Lanes>(w + o * inputs + k);
    for (int64_t b = 0; b < rows; b++) {
      const Lanes of_x = loaded<Lanes>(x + b * inputs + k);
      for (int64_t o = 0; o < outputs; o++) lanes[o][b] += of_x * of_w[o];
    }
  }
  Half sums[outputs];
  for (int64_t o = 0; o < outputs; o++) sums[o] = sums_of(lanes[o]);
  const float *one = x, *two = one + inputs, *three = two + inputs, *four = three + inputs;
  int64_t k = whole;
  for (; k + rows <= inputs; k += rows) {
    const Square square = turned(vector_at<Half>(one + k), vector_at<Half>(two + k),
                                 vector_at<Half>(three + k), vector_at<Half>(four + k));
    for (int64_t o = 0; o < outputs; o++)
      for (int64_t j = 0; j < rows; j++) sums[o] += square.columns[j] * w[o * inputs + k + j];
  }
  for (; k < inputs; k++)
    for (int64_t o = 0; o < outputs; o++)
      sums[o] += Half{one[k], two[k], three[k], four[k]} * w[o * inputs + k];
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t b = 0; b < rows; b++) y[b * at.row + o * at.output] = sums[o][b];
}

template <int64_t outputs>
void multiply(const float* x, const float* w, int64_t batch, int64_t inputs, float* y, Places at) {
  constexpr int64_t rows = 4;
  int64_t b = 0;
  for (; b + rows <= batch; b += rows)
    multiply_rows<outputs>(x + b * inputs, w, inputs, y + b * at.row, at);
  for (; b < batch; b++) multiply_row<outputs>(x + b * inputs, w, inputs, y + b * at.row, at);
}

// A gradient of some outputs for each sample, and that of w, laid in two ways.
struct Back {
  const float* gradient;
  Places of_samples;
  float* of_w;
  Places of_inputs;
};

// Some vectors of the gradient of w, from input `first` on, summed sample after sample.
template <int64_t outputs, class Vector, int64_t vectors>
void sum_samples(const float* x, const Back& back, int64_t batch, int64_t inputs, int64_t first) {
  constexpr int64_t lanes = sizeof(Vector) / sizeof(float);
  Vector sums[outputs][vectors] = {};
  for (int64_t b = 0; b < batch; b++)
    for (int64_t v = 0; v < vectors; v++) {
      const Vector of_x = loaded<Vector>(x + b * inputs + first + v * lanes);
      for (int64_t o = 0; o < outputs; o++)
        sums[o][v] += of_x * back.gradient[b * back.of_samples.row + o * back.of_samples.output];
    }
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t k = 0; k < vectors * lanes; k++)
      back.of_w[(first + k) * back.of_inputs.row + o * back.of_inputs.output] =
          sums[o][k / lanes][k % lanes];
}

template <int64_t outputs>
void multiply_back(const float* x, const Back& back, int64_t batch, int64_t inputs) {
  constexpr int64_t all = 6 * 2 * kLanes, wide = 4 * kLanes, narrow = kLanes / 2;
  int64_t k = 0;
#ifdef __AVX512F__
  // As many sums as its registers hold, so that x is read once.
  for (; k + all <= inputs; k += all) sum_samples<outputs, Pair, 6>(x, back, batch, inputs, k);
#endif
  for (; k + wide <= inputs; k += wide) sum_samples<outputs, Lanes, 4>(x, back, batch, inputs, k);
  for (; k + narrow <= inputs; k += narrow)
    sum_samples<outputs, Half, 1>(x, back, batch, inputs, k);
  for (; k < inputs; k++) sum_samples<outputs, Single, 1>(x, back, batch, inputs, k);
}

// A number for each of `rows` and each output: rows or, if they come first, outputs adjoin.
Places places(int64_t rows, int64_t outputs, bool outputs_first) {
  return outputs_first ? Places{1, rows} : Places{outputs, 1};
}

}  // namespace

// Products x w^T of many runs, for two or three outputs; see functional/linear.py.
extern "C" void multiply_runs(const float* x, const float* w, int64_t runs, int64_t batch,
                              int64_t inputs, int64_t outputs, int64_t outputs_first, float* y) {
  const auto one = outputs == 2 ? multiply<2> : multiply<3>;
  const Places at = places(batch, outputs, outputs_first);
  for (int64_t r = 0; r < runs; r++)
    one(x + r * batch * inputs, w + r * inputs * outputs, batch, inputs, y + r * batch * outputs,
        at);
}

// The gradients of w of the same products.
extern "C" void multiply_runs_back(const float* x, const float* gradient, int64_t runs,
                                   int64_t batch, int64_t inputs, int64_t outputs,
                                   int64_t outputs_first, float* of_w) {
  const auto one = outputs == 2 ? multiply_back<2> : multiply_back<3>;
  const Places of_samples = places(batch, outputs, outputs_first);
  const Places of_inputs = places(inputs, outputs, outputs_first);
  for (int64_t r = 0; r < runs; r++)
    one(x + r * batch * inputs,
        {gradient + r * batch * outputs, of_samples, of_w + r * inputs * outputs, of_inputs}, batch,
        inputs);
}
