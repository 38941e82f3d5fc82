// Iterations of many runs: random numbers, samples, targets, and the calls of emitted functions.

#include <cmath>

// MT19937 (Matsumoto and Nishimura, 1998), a generator in each lane. `key` holds the next 624 words.
constexpr int kWords = 624, kMiddle = 397;

struct Generators {
  U* key;
  int64_t position;
};

static inline U twisted(U first, U second, U far) {
  const U joined = (first & 0x80000000u) | (second & 0x7fffffffu);
  const U odd = (U)((I)(second << 31) >> 31);
  return far ^ (joined >> 1) ^ (odd & 0x9908b0dfu);
}

static void advance(U* key) {
  constexpr int wrap = kWords - kMiddle;
  for (int k = 0; k < wrap; k++) key[k] = twisted(key[k], key[k + 1], key[k + kMiddle]);
  for (int k = wrap; k < kWords - 1; k++) key[k] = twisted(key[k], key[k + 1], key[k - wrap]);
  key[kWords - 1] = twisted(key[kWords - 1], key[0], key[kMiddle - 1]);
}

static inline U tempered(U word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

// The upper 27 bits of a word and 26 of the next one, as a number of 53 bits over 2^53.
static inline D unit(U high, U low) {
  const I a = (I)(high >> 5), b = (I)(low >> 6);
  return (__builtin_convertvector(a, D) * 67108864.0 + __builtin_convertvector(b, D)) *
         (1.0 / 9007199254740992.0);
}

static void draw(Generators& from, D* doubles, int64_t count) {
  for (int64_t drawn = 0; drawn < count;) {
    if (from.position == kWords) {
      advance(from.key);
      from.position = 0;
    }
    const U* words = from.key + from.position;
    int64_t whole = (kWords - from.position) / 2;
    if (whole > count - drawn) whole = count - drawn;
    for (int64_t k = 0; k < whole; k++)
      doubles[drawn + k] = unit(tempered(words[2 * k]), tempered(words[2 * k + 1]));
    from.position += 2 * whole;
    drawn += whole;
    if (drawn < count && from.position == kWords - 1) {
      const U high = tempered(from.key[kWords - 1]);
      advance(from.key);
      doubles[drawn++] = unit(high, tempered(from.key[0]));
      from.position = 1;
    }
  }
}

enum Operation { kAdd, kSub, kMul, kDiv, kSquared, kRoot, kReciprocal };

// Inputs low + width * double, and targets: an operation on sums over slices of the inputs. Where
// `x_given` is not null, samples lie there instead, iteration after iteration.
struct Samples {
  const D *low, *width;
  const int64_t* slices;  // from, to of each operand and lane
  int64_t equal_slices;
  int64_t operation, operands, inputs;
  const N *x_given, *t_given;
  int64_t outputs;
};

// The sum of d[from] to d[to - 1] in the order in which NumPy adds them.
template <class Number>
static inline Number sum(const Number* d, int64_t count, int64_t stride) {
  if (count < 8) {
    Number all = d[0];
    for (int64_t k = 1; k < count; k++) all += d[k * stride];
    return all;
  }
  Number part[8];
  int64_t k = 8;
  for (int j = 0; j < 8; j++) part[j] = d[j * stride];
  for (; k + 8 <= count; k += 8)
    for (int j = 0; j < 8; j++) part[j] += d[(k + j) * stride];
  Number all =
      ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (; k < count; k++) all += d[k * stride];
  return all;
}

static inline D operand(const Samples& from, const D* d, int64_t k) {
  const int64_t* at = from.slices + 2 * k * L;
  if (from.equal_slices) return sum(d + at[0], at[1] - at[0], 1);
  D all;
  for (int l = 0; l < L; l++) {
    const int64_t start = at[2 * l];
    all[l] = sum((const double*)d + start * L + l, at[2 * l + 1] - start, L);
  }
  return all;
}

static inline D combined(int64_t operation, D all, D one) {
  switch (operation) {
    case kAdd: return all + one;
    case kSub: return all - one;
    case kMul: return all * one;
    default: return all / one;
  }
}

static inline D transformed(int64_t operation, D all) {
  switch (operation) {
    case kSquared: return all * all;
    case kRoot: for (int l = 0; l < L; l++) all[l] = __builtin_sqrt(all[l]); return all;
    case kReciprocal: return 1.0 / all;
    default: return all;
  }
}

// Inputs of one portion, and targets of an operation on two of them, in a loop without decisions.
template <int operation>
static void fill_pairs(const Samples& from, const D* d, int64_t count, N* x, N* t) {
  const int64_t inputs = from.inputs, i = from.slices[0], j = from.slices[2 * L];
  const D low = *from.low, width = *from.width;
  for (int64_t b = 0; b < count; b++, d += inputs, x += inputs) {
    for (int64_t k = 0; k < inputs; k++) x[k] = __builtin_convertvector(d[k] * width + low, N);
    t[b] = __builtin_convertvector(
        combined(operation, d[i] * width + low, d[j] * width + low), N);
  }
}

// Whether each operand is one input, which may be another one in each lane.
static bool of_single_inputs(const Samples& from) {
  for (int64_t k = 0; k < from.operands * L; k++)
    if (from.slices[2 * k + 1] - from.slices[2 * k] != 1) return false;
  return from.operands == 2 && from.operation <= kDiv;
}

// As fill_pairs, of other inputs in each lane.
static void fill_lanes(const Samples& from, const D* d, int64_t count, D* scaled, N* x, N* t) {
  int64_t i[L], j[L];
  for (int l = 0; l < L; l++) {
    i[l] = from.slices[2 * l] * L + l;
    j[l] = from.slices[2 * (L + l)] * L + l;
  }
  const int64_t inputs = from.inputs;
  const D low = *from.low, width = *from.width;
  for (int64_t b = 0; b < count; b++, d += inputs, x += inputs) {
    for (int64_t k = 0; k < inputs; k++) {
      scaled[k] = d[k] * width + low;
      x[k] = __builtin_convertvector(scaled[k], N);
    }
    D one, other;
    for (int l = 0; l < L; l++) {
      ((double*)&one)[l] = ((const double*)scaled)[i[l]];
      ((double*)&other)[l] = ((const double*)scaled)[j[l]];
    }
    t[b] = __builtin_convertvector(combined(from.operation, one, other), N);
  }
}

static void fill(const Samples& from, const D* d, int64_t count, D* scaled, N* x, N* t) {
  const int64_t *at = from.slices, inputs = from.inputs;
  if (from.equal_slices && from.operands == 2 && at[1] - at[0] == 1 &&
      at[2 * L + 1] - at[2 * L] == 1) {
    switch (from.operation) {
      case kAdd: return fill_pairs<kAdd>(from, d, count, x, t);
      case kSub: return fill_pairs<kSub>(from, d, count, x, t);
      case kMul: return fill_pairs<kMul>(from, d, count, x, t);
      case kDiv: return fill_pairs<kDiv>(from, d, count, x, t);
    }
  }
  if (of_single_inputs(from)) return fill_lanes(from, d, count, scaled, x, t);
  const D low = *from.low, width = *from.width;
  for (int64_t b = 0; b < count; b++, d += inputs, x += inputs) {
    for (int64_t k = 0; k < inputs; k++) {
      scaled[k] = d[k] * width + low;
      x[k] = __builtin_convertvector(scaled[k], N);
    }
    D all = operand(from, scaled, 0);
    for (int64_t k = 1; k < from.operands; k++)
      all = combined(from.operation, all, operand(from, scaled, k));
    t[b] = __builtin_convertvector(transformed(from.operation, all), N);
  }
}

typedef void Begin(const N*, N*, const N*, const N*);
typedef void Block(const N*, N*, const N*, const N*, const N*, const N*, N*, int, int);
typedef void Update(N*, N*, const N*, const N*, N*);

// A vector of runs of one model. Of `w` and `z` there is a row for each iteration.
struct Member {
  Begin* begin;
  Block* block;
  Update* update;
  N *s, *q, *o;
  const N *w, *z;
  int64_t w_row, z_row, samples;
};

// Vectors of runs that share generators.
struct Tile {
  Generators generators;
  const Samples* samples;
  const Member* members;
  int64_t samples_count, members_count;
};

// What all tiles have in common; memory for the samples of a portion.
struct Work {
  int64_t batch, inputs, portion;
  D *doubles, *scaled;
  N *x, *t;
};

extern "C" int lanes() { return L; }

extern "C" void iterate(Tile* tiles, int64_t count, const Work* work, int64_t iterations) {
  const int64_t inputs = work->inputs, batch = work->batch;
  for (Tile* tile = tiles; tile < tiles + count; tile++) {
    for (int64_t it = 0; it < iterations; it++) {
      const Member* end = tile->members + tile->members_count;
      for (const Member* m = tile->members; m < end; m++)
        m->begin(m->s, m->q, m->w + it * m->w_row, m->z + it * m->z_row);
      for (int64_t first = 0; first < batch; first += work->portion) {
        const int64_t some = first + work->portion < batch ? work->portion : batch - first;
        if (tile->generators.key) draw(tile->generators, work->doubles, some * inputs);
        const Member* m = tile->members;
        for (int64_t k = 0; k < tile->samples_count; k++) {
          const Samples& from = tile->samples[k];
          const N *x = work->x, *t = work->t;
          if (from.x_given) {
            x = from.x_given + (it * batch + first) * inputs;
            t = from.t_given + (it * batch + first) * from.outputs;
          } else {
            fill(from, work->doubles, some, work->scaled, work->x, work->t);
          }
          for (; m < end && m->samples == k; m++)
            m->block(m->s, m->q, m->w + it * m->w_row, m->z + it * m->z_row, x, t, m->o,
                     (int)first, (int)some);
        }
      }
      for (const Member* m = tile->members; m < end; m++)
        m->update(m->s, m->q, m->w + it * m->w_row, m->z + it * m->z_row, m->o);
    }
  }
}

// Mean squares and mean roots of squares of a vector of runs on fixed rows. Rows of x `(rows, inputs)` and t are the same in
// all lanes, or, if `each`, a vector. `o` holds the squares of a portion; `passes` > 1 asks for all.
extern "C" void evaluate(const Member* m, const T* x, const T* t, int64_t rows, int64_t inputs,
                         int64_t outputs, int64_t width, int64_t each, int64_t portion, N* x_of,
                         N* t_of,
                         double* means) {
  D total = {}, roots = {};
  m->begin(m->s, m->q, m->w, m->z);
  for (int64_t first = 0; first < rows; first += portion) {
    const int64_t some = first + portion < rows ? portion : rows - first;
    const N *xs = (const N*)x + first * inputs, *ts = (const N*)t + first * outputs;
    if (!each) {
      for (int64_t k = 0; k < some * inputs; k++) x_of[k] = V(x[first * inputs + k]);
      for (int64_t k = 0; k < some * outputs; k++) t_of[k] = V(t[first * outputs + k]);
      xs = x_of;
      ts = t_of;
    }
    m->block(m->s, m->q, m->w, m->z, xs, ts, m->o, 0, (int)some);
    for (int64_t k = 0; k < some * width; k++) {
      const D square = __builtin_convertvector(m->o[k], D);
      total += square;
      for (int l = 0; l < L; l++) roots[l] += __builtin_sqrt(square[l]);
    }
  }
  for (int l = 0; l < L; l++) means[l] = total[l] / (double)(rows * width);
  for (int l = 0; l < L; l++) means[L + l] = roots[l] / (double)(rows * width);
}
