// What NumPy and torch do, several times faster; see native.py.

#include <cmath>
#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-loop-vectorize")
#endif

namespace {

// MT19937 (Matsumoto and Nishimura, 1998), in the memory of NumPy's generator.
constexpr int kWords = 624, kMiddle = 397;

struct State {
  uint32_t key[kWords];
  int position;
};

inline uint32_t twisted(uint32_t first, uint32_t second, uint32_t far) {
  const uint32_t joined = (first & 0x80000000u) | (second & 0x7fffffffu);
  return far ^ (joined >> 1) ^ (-(second & 1u) & 0x9908b0dfu);
}

void advance(uint32_t* key) {
  constexpr int wrap = kWords - kMiddle;
  for (int k = 0; k < wrap; k++) key[k] = twisted(key[k], key[k + 1], key[k + kMiddle]);
  for (int k = wrap; k < kWords - 1; k++) key[k] = twisted(key[k], key[k + 1], key[k - wrap]);
  key[kWords - 1] = twisted(key[kWords - 1], key[0], key[kMiddle - 1]);
}

inline uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

// The state advances when a word is missing, not when the last one is taken, as NumPy's does.
void draw(State* state, uint32_t* words, int64_t count) {
  for (int64_t drawn = 0; drawn < count;) {
    if (state->position == kWords) {
      advance(state->key);
      state->position = 0;
    }
    const int64_t left = kWords - state->position;
    const int64_t taken = left < count - drawn ? left : count - drawn;
    const uint32_t* from = state->key + state->position;
    for (int64_t k = 0; k < taken; k++) words[drawn + k] = tempered(from[k]);
    state->position += static_cast<int>(taken);
    drawn += taken;
  }
}

}  // namespace

namespace {

// The upper 27 bits of a word and 26 of the next one, as a number of 53 bits over 2^53.
inline double double_of(const uint32_t* words) {
#ifdef __AVX512DQ__
  uint64_t both;
  __builtin_memcpy(&both, words, sizeof both);
  const int64_t number = ((both & 0xffffffe0u) << 21) | (both >> 38);
  return static_cast<double>(number) * (1.0 / 9007199254740992.0);
#else
  const double high = static_cast<int32_t>(words[0] >> 5);
  const double low = static_cast<int32_t>(words[1] >> 6);
  return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
#endif
}

}  // namespace

// Uniform doubles in [0, 1), of two words each.
extern "C" void draw_doubles(State* state, double* doubles, int64_t count) {
  constexpr int64_t most = kWords / 2;
  uint32_t words[2 * most];
  for (int64_t first = 0; first < count; first += most) {
    const int64_t part = count - first < most ? count - first : most;
    draw(state, words, 2 * part);
    for (int64_t k = 0; k < part; k++) doubles[first + k] = double_of(words + 2 * k);
  }
}

namespace {

// One batch of uniform doubles, sample after sample or input after input.
template <bool by_input>
struct Doubles {
  const double* at;
  int64_t samples, inputs;

  double operator()(int64_t b, int64_t k) const {
    return by_input ? at[k * samples + b] : at[b * inputs + k];
  }
};

// Inputs of one run: low + width * double.
struct Interval {
  double low, width;
};

// Where the numbers of a sum lie in a sample.
struct Adjoining {
  int64_t from;

  int64_t operator()(int64_t k) const { return from + k; }
};

constexpr int64_t kLongestSum = 128;

struct Scattered {
  int32_t at[kLongestSum];

  int64_t operator()(int64_t k) const { return at[k]; }
};

// Sums over `count` inputs of each sample, in the order in which NumPy adds them.
template <bool by_input, class Place>
void sum_places(Doubles<by_input> doubles, Interval interval, const Place& place, int64_t count,
                double* __restrict sums) {
  constexpr int64_t lanes = 8;
  const int64_t samples = doubles.samples;
  const auto value = [&](int64_t b, int64_t k) {
    return doubles(b, place(k)) * interval.width + interval.low;
  };
  if (count < lanes) {
    for (int64_t b = 0; b < samples; b++) sums[b] = value(b, 0);
    for (int64_t k = 1; k < count; k++)
      for (int64_t b = 0; b < samples; b++) sums[b] += value(b, k);
    return;
  }
  for (int64_t b = 0; b < samples; b++) {
    double lane[lanes];
    int64_t k = lanes;
    for (int64_t j = 0; j < lanes; j++) lane[j] = value(b, j);
    for (; k + lanes <= count; k += lanes)
      for (int64_t j = 0; j < lanes; j++) lane[j] += value(b, k + j);
    double sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
                 ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    for (; k < count; k++) sum += value(b, k);
    sums[b] = sum;
  }
}

// The same of inputs from..to of each of `steps` steps: in all, no more than the longest sum.
template <bool by_input>
void sum_slice(Doubles<by_input> doubles, Interval interval, int64_t steps, int64_t from,
               int64_t to, double* __restrict sums) {
  const int64_t width = to - from;
  if (steps == 1) {
    sum_places(doubles, interval, Adjoining{from}, width, sums);
  } else {
    Scattered place;
    for (int64_t k = 0; k < steps * width; k++)
      place.at[k] = static_cast<int32_t>(k / width * (doubles.inputs / steps) + from + k % width);
    sum_places(doubles, interval, place, steps * width, sums);
  }
}

enum Operation { kAdd, kSub, kMul, kDiv, kSquared, kRoot, kReciprocal };

void combine(int64_t operation, const double* one, double* __restrict all, int64_t count) {
  switch (operation) {
    case kAdd: for (int64_t b = 0; b < count; b++) all[b] += one[b]; break;
    case kSub: for (int64_t b = 0; b < count; b++) all[b] -= one[b]; break;
    case kMul: for (int64_t b = 0; b < count; b++) all[b] *= one[b]; break;
    case kDiv: for (int64_t b = 0; b < count; b++) all[b] /= one[b]; break;
  }
}

void transform(int64_t operation, double* all, int64_t count) {
  switch (operation) {
    case kSquared: for (int64_t b = 0; b < count; b++) all[b] *= all[b]; break;
    case kRoot: for (int64_t b = 0; b < count; b++) all[b] = __builtin_sqrt(all[b]); break;
    case kReciprocal: for (int64_t b = 0; b < count; b++) all[b] = 1 / all[b]; break;
  }
}

// An operation on the first operands, and where its results go; `Targets` in native.py mirrors it.
struct Targets {
  int64_t operation, operands;
  float* t;
};

// Inputs x of many runs and batches to draw, and one or more kinds of targets for all of them;
// `SampleBlock` in native.py mirrors it.
struct SampleBlock {
  // Runs first_run[g] to first_run[g + 1] of the table below draw from generator g.
  int64_t group_count;
  // A sample has inputs of so many steps, one step after another.
  int64_t batches, samples, inputs, steps;
  // Sums over slices that a run has at most, and kinds of targets made of them.
  int64_t operands, kinds;
  // Whether the samples of one input adjoin in x, instead of the inputs of one sample.
  int64_t samples_adjoin;
  // Strides of x and t in elements.
  int64_t x_batch, x_run, t_batch, t_run;
  State* const* generators;
  const int64_t* first_run;
  // Run r of the table is number place[r] of x and t.
  const int64_t* place;
  const Interval* intervals;
  // Operand k of run r is the sum over inputs slices[2 * (r * operands + k)] to
  // slices[2 * (r * operands + k) + 1] of each step.
  const int64_t* slices;
  // Two batches of doubles, and per sample a number for each operand and one more.
  double* scratch;
  float* x;
  const Targets* targets;
};

// Writes one batch of one run; its targets begin at number t_start of each kind.
template <bool by_input>
void write_batch(const SampleBlock& block, Doubles<by_input> doubles, Interval interval,
                 const int64_t* slice, double* sums, float* __restrict x, int64_t t_start) {
  const int64_t samples = doubles.samples, count = samples * doubles.inputs;
  for (int64_t k = 0; k < count; k++)
    x[k] = static_cast<float>(doubles.at[k] * interval.width + interval.low);
  double* all = sums + block.operands * samples;
  for (int64_t k = 0; k < block.operands; k++)
    sum_slice(doubles, interval, block.steps, slice[2 * k], slice[2 * k + 1],
              sums + k * samples);
  for (const Targets* kind = block.targets; kind < block.targets + block.kinds; kind++) {
    for (int64_t b = 0; b < samples; b++) all[b] = sums[b];
    for (int64_t k = 1; k < kind->operands; k++)
      combine(kind->operation, sums + k * samples, all, samples);
    transform(kind->operation, all, samples);
    float* __restrict t = kind->t + t_start;
    for (int64_t b = 0; b < samples; b++) t[b] = static_cast<float>(all[b]);
  }
}

template <class Number>
void turn(const Number* __restrict from, Number* __restrict to, int64_t rows, int64_t columns) {
  for (int64_t k = 0; k < columns; k++)
    for (int64_t b = 0; b < rows; b++) to[k * rows + b] = from[b * columns + k];
}

}  // namespace

// Sums over inputs from..to of each sample, for comparison with NumPy's.
extern "C" void sum_inputs(const double* values, int64_t samples, int64_t inputs, int64_t from,
                           int64_t to, double* sums) {
  sum_slice(Doubles<false>{values, samples, inputs}, {0.0, 1.0}, 1, from, to, sums);
}

// The size of what `draw_samples` reads, for comparison with that of its mirror.
extern "C" int64_t sample_block_size() { return sizeof(SampleBlock); }

// Draws and writes a block of samples.
extern "C" void draw_samples(const SampleBlock* all) {
  const SampleBlock& block = *all;
  const int64_t samples = block.samples, inputs = block.inputs, count = samples * inputs;
  double *turned = block.scratch + count, *sums = turned + count;
  for (int64_t g = 0; g < block.group_count; g++) {
    for (int64_t batch = 0; batch < block.batches; batch++) {
      draw_doubles(block.generators[g], block.scratch, count);
      if (block.samples_adjoin) turn(block.scratch, turned, samples, inputs);
      for (int64_t r = block.first_run[g]; r < block.first_run[g + 1]; r++) {
        const int64_t* slice = block.slices + 2 * r * block.operands;
        float* x = block.x + batch * block.x_batch + block.place[r] * block.x_run;
        const int64_t t = batch * block.t_batch + block.place[r] * block.t_run;
        if (block.samples_adjoin) {
          const Doubles<true> doubles{turned, samples, inputs};
          write_batch(block, doubles, block.intervals[r], slice, sums, x, t);
        } else {
          const Doubles<false> doubles{block.scratch, samples, inputs};
          write_batch(block, doubles, block.intervals[r], slice, sums, x, t);
        }
      }
    }
  }
}

// Rows and columns of each matrix exchanged.
extern "C" void turn_matrices(const float* from, float* to, int64_t matrices, int64_t rows,
                              int64_t columns) {
  const int64_t size = rows * columns;
  for (int64_t k = 0; k < matrices; k++) turn(from + k * size, to + k * size, rows, columns);
}

namespace {

constexpr int64_t kLanes = 8;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef float Half __attribute__((vector_size(kLanes / 2 * sizeof(float))));

template <class Vector>
inline Vector vector_at(const float* numbers) {
  Vector vector;
  __builtin_memcpy(&vector, numbers, sizeof vector);
  return vector;
}

// Eight lanes, summed in halves.
inline float sum_of(const Lanes& v) {
  const Half four = __builtin_shufflevector(v, v, 0, 1, 2, 3) +
                    __builtin_shufflevector(v, v, 4, 5, 6, 7);
  const Half two = four + __builtin_shufflevector(four, four, 2, 3, 2, 3);
  return two[0] + two[1];
}

// y (rows, outputs) of x (rows, inputs) and w (outputs, inputs), each number summed in eight lanes,
// which are summed in halves, and then what is left over: the order of torch for few outputs.
template <int64_t outputs, int64_t rows>
void multiply_rows(const float* x, const float* w, int64_t inputs, float* y) {
  const int64_t whole = inputs / kLanes * kLanes;
  Lanes sums[rows][outputs] = {};
  for (int64_t k = 0; k < whole; k += kLanes)
    for (int64_t b = 0; b < rows; b++)
      for (int64_t o = 0; o < outputs; o++)
        sums[b][o] += vector_at<Lanes>(x + b * inputs + k) * vector_at<Lanes>(w + o * inputs + k);
  for (int64_t b = 0; b < rows; b++)
    for (int64_t o = 0; o < outputs; o++) {
      float sum = sum_of(sums[b][o]);
      for (int64_t k = whole; k < inputs; k++) sum += x[b * inputs + k] * w[o * inputs + k];
      y[b * outputs + o] = sum;
    }
}

template <int64_t outputs>
void multiply(const float* x, const float* w, int64_t batch, int64_t inputs, float* y) {
  constexpr int64_t rows = 4;
  int64_t b = 0;
  for (; b + rows <= batch; b += rows)
    multiply_rows<outputs, rows>(x + b * inputs, w, inputs, y + b * outputs);
  for (; b < batch; b++) multiply_rows<outputs, 1>(x + b * inputs, w, inputs, y + b * outputs);
}

// Some vectors of the gradient of w, laid (inputs, outputs), summed sample after sample.
template <int64_t outputs, class Vector, int64_t vectors>
void sum_samples(const float* x, const float* gradient, int64_t batch, int64_t inputs,
                 float* of_w) {
  constexpr int64_t lanes = sizeof(Vector) / sizeof(float);
  Vector sums[outputs][vectors] = {};
  for (int64_t b = 0; b < batch; b++)
    for (int64_t o = 0; o < outputs; o++)
      for (int64_t v = 0; v < vectors; v++)
        sums[o][v] += vector_at<Vector>(x + b * inputs + v * lanes) * gradient[b * outputs + o];
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t k = 0; k < vectors * lanes; k++)
      of_w[k * outputs + o] = sums[o][k / lanes][k % lanes];
}

template <int64_t outputs>
void multiply_back(const float* x, const float* gradient, int64_t batch, int64_t inputs,
                   float* of_w) {
  constexpr int64_t wide = 4 * kLanes, narrow = kLanes / 2;
  int64_t k = 0;
  for (; k + wide <= inputs; k += wide)
    sum_samples<outputs, Lanes, 4>(x + k, gradient, batch, inputs, of_w + k * outputs);
  for (; k + narrow <= inputs; k += narrow)
    sum_samples<outputs, Half, 1>(x + k, gradient, batch, inputs, of_w + k * outputs);
  for (; k < inputs; k++)
    for (int64_t o = 0; o < outputs; o++) {
      float sum = 0;
      for (int64_t b = 0; b < batch; b++) sum += x[b * inputs + k] * gradient[b * outputs + o];
      of_w[k * outputs + o] = sum;
    }
}

}  // namespace

// Products x w^T of many runs, for two or three outputs; see functional/linear.py.
extern "C" void multiply_runs(const float* x, const float* w, int64_t runs, int64_t batch,
                              int64_t inputs, int64_t outputs, float* y) {
  const auto one = outputs == 2 ? multiply<2> : multiply<3>;
  for (int64_t r = 0; r < runs; r++)
    one(x + r * batch * inputs, w + r * inputs * outputs, batch, inputs, y + r * batch * outputs);
}

// The gradients of w of the same products.
extern "C" void multiply_runs_back(const float* x, const float* gradient, int64_t runs,
                                   int64_t batch, int64_t inputs, int64_t outputs, float* of_w) {
  const auto one = outputs == 2 ? multiply_back<2> : multiply_back<3>;
  for (int64_t r = 0; r < runs; r++)
    one(x + r * batch * inputs, gradient + r * batch * outputs, batch, inputs,
        of_w + r * inputs * outputs);
}

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
