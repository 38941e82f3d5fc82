// Iterations of many runs: random numbers, samples, targets, and the calls of emitted functions.

#include <cmath>

// Doubles are held in halves of lanes, of which each fills a register.
typedef double H __attribute__((vector_size(L * 4)));
typedef T Part __attribute__((vector_size(sizeof(T) * L / 2)));

// MT19937 (Matsumoto and Nishimura, 1998), a generator in each lane. `key` holds the next 624 words,
// from `position` on and around. The first half of the lanes has the first two of four places each.
struct Generators {
  U* key;
  int64_t position;
};

static inline U picked(U a, U b, U places) {
#ifdef __clang__
  U all;
  for (int l = 0; l < L; l++) all[l] = places[l] < L ? a[places[l]] : b[places[l] - L];
  return all;
#else
  return __builtin_shuffle(a, b, places);
#endif
}

static inline U twisted(U first, U second, U far) {
  const U joined = ((first ^ second) & 0x80000000u) ^ second;
#ifdef __clang__
  const U odd = -(second & 1u) & 0x9908b0dfu;
#else
  U of_lowest;  // GCC takes the lower bits of a place, of which the lowest counts here.
  for (int l = 0; l < L; l++) of_lowest[l] = l % 2 ? 0x9908b0dfu : 0u;
  const U odd = __builtin_shuffle(of_lowest, second);
#endif
  return far ^ (joined >> 1) ^ odd;
}

// The upper 27 bits of a word and 26 of the next one, as a number of 53 bits over 2^53: they are put
// below the upper halves of 2^25 and 2^-1, which are taken away again. Nothing is rounded.
static inline void unit(U high, U low, H* doubles) {
  const U a = high >> 5, b = low >> 6, above = U{} + 0x41800000u, below = U{} + 0x3fe00000u;
  const H both = H{} + (0x1p25 + 0x1p-1);
  for (int half = 0; half < 2; half++) {
    U places;
    for (int l = 0; l < L; l++) places[l] = l / 4 * 4 + l % 4 / 2 + half * 2 + l % 2 * L;
    doubles[half] = ((H)picked(a, above, places) - both) + (H)picked(b, below, places);
  }
}

// Hands on the doubles of the words from `from` to `end`, which are replaced by what follows from
// those `far` places on.
template <class Take>
static inline void draw_some(U* __restrict key, int from, int end, int far, Take& take) {
  U first = key[from];
  for (int k = from; k < end; k += 2) {
    const int last = k + 1 + far;
    const U second = key[k + 1], third = key[k + 2 < kWords ? k + 2 : 0];
    H doubles[2];
    unit(tempered(first), tempered(second), doubles);
    key[k] = twisted(first, second, key[k + far]);
    key[k + 1] = twisted(second, third, key[last < kWords ? last : 0]);
    take(doubles[0], doubles[1]);
    first = third;
  }
}

template <class Take>
static inline void draw(Generators& from, int64_t count, Take take) {
  constexpr int wrap = kWords - kMiddle - 1;
  while (count > 0) {
    const int at = from.position;
    const int stop = at < wrap ? wrap : at < wrap + 2 ? wrap + 2 : kWords;
    const int end = at + 2 * count < stop ? at + 2 * count : stop;
    draw_some(from.key, at, end, at < wrap + 2 ? kMiddle : kMiddle - kWords, take);
    count -= (end - at) / 2;
    from.position = end % kWords;
  }
}

// Keeps doubles.
struct Keep {
  H* __restrict doubles;
  void operator()(H one, H other) {
    doubles[0] = one;
    doubles[1] = other;
    doubles += 2;
  }
};

// Inputs low + width * double, and targets: a function of sums over slices of the inputs; all but
// the function is as in the samples before, if `again`. `equal_slices`: in all lanes; `single`: of
// one input each; `taken`: inputs of all operands, each of which has as many in all lanes. Where
// `x_given` is not null, samples lie there instead: iteration after iteration, or the `same` ones.
struct Samples {
  const H *low, *width;
  const int64_t* slices;  // from, to of each operand and lane
  int64_t equal_slices, single, taken, function, operands, inputs, again;
  const N *x_given, *t_given;
  int64_t outputs, same;
};

// The operands of a sample, each in two halves.
static inline void sum_operands(const Samples& from, const H* d, H* sums) {
  for (int64_t k = 0; k < from.operands; k++, sums += 2) {
    const int64_t* at = from.slices + 2 * k * L;
    if (from.equal_slices) {
      for (int half = 0; half < 2; half++) sums[half] = sum(d + 2 * at[0] + half, at[1] - at[0], 2);
      continue;
    }
    const double* of_lanes = (const double*)d;
    if (from.single) {
      for (int l = 0; l < L; l++) ((double*)sums)[l] = of_lanes[at[2 * l] * L + l];
      continue;
    }
    for (int l = 0; l < L; l++)
      ((double*)sums)[l] = sum(of_lanes + at[2 * l] * L + l, at[2 * l + 1] - at[2 * l], L);
  }
}

// Inputs, made of doubles where they are read.
struct Scaled {
  const H* doubles;
  H width, low;
  H operator[](int64_t k) const { return doubles[k] * width + low; }
};

// The doubles of some samples' operands, as if all lanes had the slices that come first.
static void pick(const Samples& from, const H* d, int64_t count, H* __restrict picked) {
  for (int64_t b = 0; b < count; b++, d += 2 * from.inputs)
    for (int64_t k = 0; k < from.operands; k++) {
      const int64_t *at = from.slices + 2 * k * L, size = at[1] - at[0];
      for (int l = 0; l < L; l++) {
        const double* of_lane = (const double*)d + at[2 * l] * L + l;
        for (int64_t i = 0; i < size; i++) ((double*)picked)[i * L + l] = of_lane[i * L];
      }
      picked += 2 * size;
    }
}

// The operands of a sample, made of its doubles or, if not null, of those that were picked.
static inline void sum_scaled(const Samples& from, const H* d, const H* picked, H* sums) {
  for (int64_t k = 0; k < from.operands; k++, sums += 2) {
    const int64_t *at = from.slices + 2 * k * L, size = at[1] - at[0];
    const H* own = picked ? picked : d + 2 * at[0];
    for (int half = 0; half < 2; half++)
      sums[half] = sum(Scaled{own + half, from.width[half], from.low[half]}, size, 2);
    if (picked) picked += 2 * size;
  }
}

// Makes inputs of doubles, which are kept in double precision for sums, too.
struct Scale {
  const H low[2], width[2];
  H* __restrict scaled;
  Part* __restrict x;
  Scale(const Samples& from, H* scaled, N* x)
      : low{from.low[0], from.low[1]}, width{from.width[0], from.width[1]}, scaled(scaled),
        x((Part*)x) {}
  void operator()(H one, H other) {
    scaled[0] = one * width[0] + low[0];
    scaled[1] = other * width[1] + low[1];
    x[0] = __builtin_convertvector(scaled[0], Part);
    x[1] = __builtin_convertvector(scaled[1], Part);
    scaled += 2;
    x += 2;
  }
};

// Inputs of some samples.
static void fill_inputs(const Samples& from, const H* __restrict d, int64_t count,
                        Part* __restrict x) {
  const H low[] = {from.low[0], from.low[1]}, width[] = {from.width[0], from.width[1]};
  for (int64_t k = 0; k < 2 * count * from.inputs; k += 2)
    for (int half = 0; half < 2; half++)
      x[k + half] = __builtin_convertvector(d[k + half] * width[half] + low[half], Part);
}

// Targets of a function on two inputs, in a loop without decisions.
template <int function>
static void fill_pairs(const Samples& from, const H* __restrict d, int64_t count,
                       Part* __restrict t) {
  const int64_t step = 2 * from.inputs;
  const H low[] = {from.low[0], from.low[1]}, width[] = {from.width[0], from.width[1]};
  const H *one = d + 2 * from.slices[0], *other = d + 2 * from.slices[2 * L];
  for (int64_t b = 0; b < count; b++, one += step, other += step, t += 2)
    for (int half = 0; half < 2; half++)
      t[half] = __builtin_convertvector(
          combined(function, one[half] * width[half] + low[half],
                   other[half] * width[half] + low[half]),
          Part);
}

static bool pairs(const Samples& from) {
  return from.equal_slices && from.single && from.operands == 2 && from.function <= kDivide;
}

// Targets of some samples, of their operands' sums.
static void combine(const Samples& from, const H* sums, int64_t count, N* t) {
  for (int64_t b = 0; b < 2 * count; b++) {
    const H* own = sums + b / 2 * 2 * from.operands + b % 2;
    H all = own[0];
    for (int64_t k = 1; k < from.operands; k++) all = combined(from.function, all, own[2 * k]);
    ((Part*)t)[b] = __builtin_convertvector(transformed(from.function, all), Part);
  }
}

static void fill(const Samples& from, const H* d, const H* picked, int64_t count, H* sums,
                 N* x, N* t) {
  if (pairs(from)) {
    Part* t_of = (Part*)t;
    fill_inputs(from, d, count, (Part*)x);
    switch (from.function) {
      case kAdd: return fill_pairs<kAdd>(from, d, count, t_of);
      case kSubtract: return fill_pairs<kSubtract>(from, d, count, t_of);
      case kMultiply: return fill_pairs<kMultiply>(from, d, count, t_of);
      default: return fill_pairs<kDivide>(from, d, count, t_of);
    }
  }
  if (!from.again) {
    fill_inputs(from, d, count, (Part*)x);
    for (int64_t b = 0; b < count; b++, d += 2 * from.inputs)
      sum_scaled(from, d, picked ? picked + 2 * b * from.taken : nullptr,
                 sums + 2 * b * from.operands);
  }
  combine(from, sums, count, t);
}

typedef void Function(N*, N*, const N*, const N*, const N*, const N*, N*, N*, int, int);

// A vector of runs of one model. Of `w` and `z` there is a row for each iteration. `prepare`, where it
// is not null, writes to `p` what this and later members need of the same inputs.
struct Member {
  Function *begin, *block, *update;
  N *s, *q, *o;
  const N *w, *z;
  int64_t w_row, z_row, samples;
  Function* prepare;
  N* p;

  void call(Function* function, int64_t it, const N* x = nullptr, const N* t = nullptr,
            int64_t first = 0, int64_t count = 0) const {
    function(s, q, w + it * w_row, z + it * z_row, x, t, p, o, (int)first, (int)count);
  }
};

// Vectors of runs that share generators.
struct Tile {
  Generators generators;
  const Samples* samples;
  const Member* members;
  int64_t samples_count, members_count;
};

// What all tiles have in common; memory for the samples of a portion. `t` has room for the targets of
// all samples of equal inputs, `sums` for their operands.
struct Work {
  int64_t batch, inputs, portion;
  H *doubles, *scaled, *sums;
  N *x, *t;
  H* picked;
};

constexpr int64_t kFew = 16384 / (8 * L);

extern "C" int lanes() { return L; }

// Whether all inputs are those of the first samples.
static bool alike(const Tile& tile) {
  for (int64_t k = 1; k < tile.samples_count; k++)
    if (!tile.samples[k].again) return false;
  return true;
}

// Samples `first` on of those from `from` to `end`, which have the same inputs; the first of a
// tile are drawn, the others made of the same doubles.
static void make(Tile& tile, const Work& work, int64_t count, int64_t from, int64_t end) {
  const Samples& own = tile.samples[from];
  const int64_t inputs = own.inputs;
  const bool once = alike(tile);
  // As few at a time as leave room in the nearest cache.
  const int64_t few = kFew / inputs > 1 ? kFew / inputs : 1, step = once && few < count ? few : count;
  for (int64_t at = 0; at < count; at += step) {
    const int64_t some = at + step < count ? step : count - at;
    N* x = work.x + at * inputs;
    if (once && !pairs(own)) {
      for (int64_t b = 0; b < some; b++) {
        draw(tile.generators, inputs, Scale(own, work.scaled, x + b * inputs));
        sum_operands(own, work.scaled, work.sums + 2 * b * own.operands);
      }
      for (int64_t k = from; k < end; k++)
        combine(tile.samples[k], work.sums, some, work.t + (k - from) * work.portion + at);
      continue;
    }
    if (from == 0) draw(tile.generators, some * inputs, Keep{work.doubles});
    H* picked = own.equal_slices ? nullptr : work.picked;
    if (picked && (from == 0 || own.slices != tile.samples[from - 1].slices))
      pick(own, work.doubles, some, picked);
    for (int64_t k = from; k < end; k++)
      fill(tile.samples[k], work.doubles, picked, some, work.sums, x,
           work.t + (k - from) * work.portion + at);
  }
}

extern "C" void iterate(Tile* tiles, int64_t count, const Work* work, int64_t iterations) {
  const int64_t inputs = work->inputs, batch = work->batch, portion = work->portion;
  for (Tile* tile = tiles; tile < tiles + count; tile++) {
    const Member* end = tile->members + tile->members_count;
    for (int64_t it = 0; it < iterations; it++) {
      for (const Member* m = tile->members; m < end; m++) m->call(m->begin, it);
      for (int64_t first = 0; first < batch; first += portion) {
        const int64_t some = first + portion < batch ? portion : batch - first;
        const Member* m = tile->members;
        for (int64_t k = 0, next; k < tile->samples_count; k = next) {
          const Samples* from = tile->samples;
          for (next = k + 1; next < tile->samples_count && from[next].again;) next++;
          const N *x = work->x, *t = work->t;
          if (from[k].x_given) {
            const int64_t row = (from[k].same ? 0 : it * batch) + first;
            x = from[k].x_given + row * inputs;
            t = from[k].t_given + row * from[k].outputs;
          } else {
            make(*tile, *work, some, k, next);
          }
          for (; m < end && m->samples < next; m++) {
            const N* own = t + (m->samples - k) * portion;
            if (m->prepare) m->call(m->prepare, it, x, own, first, some);
            m->call(m->block, it, x, own, first, some);
          }
        }
      }
      for (const Member* m = tile->members; m < end; m++) m->call(m->update, it);
    }
  }
}

// Fixed rows: sets of x `(rows, inputs)` and t `(rows, outputs)`, the set of each lane of each
// vector of runs, and memory for the lanes of a portion. Outputs have `width` squares a row.
struct Rows {
  const T *x, *t;
  const int64_t *x_set, *t_set;
  int64_t rows, inputs, outputs, width, portion, roots;
  N *x_lanes, *t_lanes;
};

// Numbers of rows for the lanes of a vector, each from its own set.
static const N* laid(const T* from, const int64_t* set, int64_t size, int64_t first, int64_t count,
                     N* lanes) {
  bool equal = true;
  const T* own[L];
  for (int l = 0; l < L; l++) {
    equal &= set[l] == set[0];
    own[l] = from + set[l] * size + first;
  }
  for (int64_t k = 0; equal && k < count; k++) lanes[k] = V(own[0][k]);
  for (int64_t k = 0; !equal && k < count; k++)
    for (int l = 0; l < L; l++) lanes[k][l] = own[l][k];
  return lanes;
}

// Mean squares of errors of vectors of runs and, if `roots`, means of their roots.
extern "C" void evaluate(const Member* m, int64_t members, const Rows* of, double* means) {
  const int64_t in = of->inputs, out = of->outputs, numbers = of->rows * of->width;
  for (const Member* end = m + members; m < end; m++, means += 2 * L) {
    const int64_t *x_set = of->x_set + (members - (end - m)) * L;
    const int64_t *t_set = of->t_set + (members - (end - m)) * L;
    H total[2] = {}, roots[2] = {};
    m->call(m->begin, 0);
    for (int64_t first = 0; first < of->rows; first += of->portion) {
      const int64_t some = first + of->portion < of->rows ? of->portion : of->rows - first;
      const N* x = laid(of->x, x_set, of->rows * in, first * in, some * in, of->x_lanes);
      const N* t = laid(of->t, t_set, of->rows * out, first * out, some * out, of->t_lanes);
      m->call(m->block, 0, x, t, 0, some);
      const Part* squares = (const Part*)m->o;
      for (int64_t k = 0; k < 2 * some * of->width; k++) {
        const H square = __builtin_convertvector(squares[k], H);
        total[k % 2] += square;
        for (int l = 0; of->roots && l < L / 2; l++) roots[k % 2][l] += __builtin_sqrt(square[l]);
      }
    }
    const double *sums = (const double*)total, *other = (const double*)roots;
    for (int l = 0; l < L; l++) means[l] = sums[l] / (double)numbers;
    for (int l = 0; l < L; l++) means[L + l] = other[l] / (double)numbers;
  }
}
