// Samples drawn with the numbers of NumPy, several times faster; matrices turned.

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

// An operation on the first operands, and where its results go; `Targets` in __init__.py mirrors it.
struct Targets {
  int64_t operation, operands;
  float* t;
};

// Inputs x of many runs and batches to draw, and one or more kinds of targets for all of them;
// `SampleBlock` in __init__.py mirrors it.
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
