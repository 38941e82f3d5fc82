// Samples on a GPU: the threads of a block draw from a generator, as runtime.cpp does, and make the
// samples of all ranges.
constexpr int kWords = 624, kMiddle = 397, kAtOnce = 113, kThreads = 128;

// `words`: of each generator, the next one at `position`. Sets of samples of generator k are those
// from of_generator[k] to of_generator[k + 1], and sets of targets of set k of samples likewise.
// `slices`: from, to of the operands of each set of targets. Of a batch, 2^portion_bits samples are
// drawn at once.
struct Draws {
  uint32_t* words;
  const double *low, *width;
  const int *of_generator, *of_set, *slices, *operations, *operands;
  N *x, *t;
  int64_t generators, sets, targets, position, batch, inputs, portion_bits, most_operands;
};

// Doubles of a sample in a range.
struct Scaled {
  const double* doubles;
  double width, low;
  DEVICE_ D operator[](int k) const { return doubles[k] * width + low; }
};

// The sum over a slice.
static inline DEVICE_ D part_of(Scaled all, const int* slice) {
  all.doubles += slice[0];
  return sum(all, slice[1] - slice[0], 1);
}

static inline DEVICE_ uint32_t twisted(uint32_t first, uint32_t second, uint32_t far) {
  const uint32_t joined = ((first ^ second) & 0x80000000u) ^ second;
  return far ^ (joined >> 1) ^ (second & 1u ? 0x9908b0dfu : 0u);
}

static inline DEVICE_ uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

KERNEL void drawn(Draws d, int iterations) {
  SHARED(doubles);
  const int me = threadIdx.x, inputs = d.inputs, wide = inputs | 1, batch = d.batch;
  const int t_size = (batch + 127) / 128 * 128, portion = 1 << d.portion_bits;
  const uint64_t one_of_inputs = ((uint64_t(1) << 32) + inputs - 1) / inputs;  // divides below 2^16
  uint32_t *key = (uint32_t*)(doubles + portion * wide), *words = d.words + blockIdx.x * kWords;
  for (int k = me; k < kWords; k += kThreads) key[k] = words[k];
  int position = d.position;
  SYNC_ALL();
  for (int it = 0; it < iterations; it++)
    for (int first = 0; first < batch; first += portion) {
      const int some = first + portion < batch ? portion : batch - first;
      for (int done = 0; done < some * inputs; done += kAtOnce) {
        const int left = some * inputs - done, pairs = left < kAtOnce ? left : kAtOnce;
        const int at = (position + 2 * me) % kWords, place = done + me;
        uint32_t next[2];
        if (me < pairs) {
          const uint32_t a = key[at], b = key[at + 1], c = key[(at + 2) % kWords];
          const double high = tempered(a) >> 5, rest = tempered(b) >> 6;
          const int row = place * one_of_inputs >> 32;
          doubles[place + row * (wide - inputs)] = (high * 67108864.0 + rest) * 0x1p-53;
          next[0] = twisted(a, b, key[(at + kMiddle) % kWords]);
          next[1] = twisted(b, c, key[(at + kMiddle + 1) % kWords]);
        }
        SYNC_ALL();
        if (me < pairs) key[at] = next[0], key[at + 1] = next[1];
        position = (position + 2 * pairs) % kWords;
        SYNC_ALL();
      }
      for (int set = d.of_generator[blockIdx.x]; set < d.of_generator[blockIdx.x + 1]; set++) {
        const double low = d.low[set], width = d.width[set];
        N* x = d.x + (it * d.sets + set) * t_size * inputs;
        for (int e = me; e < portion * inputs; e += kThreads) {
          const int b = e & (portion - 1), k = e >> d.portion_bits, sample = first + b;
          if (b >= some) continue;
          const D all = doubles[b * wide + k] * width + low;
          x[(sample / 128 * inputs + k) * 128 + sample % 128] = N(T(all.v));
        }
        for (int b = me; b < some; b += kThreads)
          for (int k = d.of_set[set]; k < d.of_set[set + 1]; k++) {
            const Scaled from = {doubles + b * wide, width, low};
            const int *at = d.slices + k * d.most_operands * 2, *end = at + d.operands[k] * 2;
            const int operation = d.operations[k];
            D all = part_of(from, at);
            for (at += 2; at < end; at += 2) all = combined(operation, all, part_of(from, at));
            d.t[(it * d.targets + k) * t_size + first + b] = N(T(transformed(operation, all).v));
          }
      }
      SYNC_ALL();
    }
  for (int k = me; k < kWords; k += kThreads) words[k] = key[k];
}

extern "C" int draw(const Draws* d, int64_t iterations, void* stream) {
  const int64_t bytes = ((d->inputs | 1) << d->portion_bits) * sizeof(double) + kWords * 4;
  return LAUNCH(drawn, (unsigned)d->generators, kThreads, bytes, stream, *d, (int)iterations);
}

// Sums of squares of each run, first to last in double precision, and of their roots if `roots`.
KERNEL void summed(const N* squares, int64_t count, int64_t row, int64_t roots, double* means) {
  SHARED(memory);
  N* some = (N*)memory;
  double total = 0, of_roots = 0;
  for (int64_t first = 0; first < count; first += 1024) {
    const int64_t end = first + 1024 < count ? 1024 : count - first;
    for (int64_t k = threadIdx.x; k < end; k += WARP)
      some[k] = squares[blockIdx.x * row + first + k];
    SYNC();
    for (int64_t k = 0; k < end && threadIdx.x == 0; k++) {
      total += some[k].v;
      if (roots) of_roots += __builtin_sqrt((double)some[k].v);
    }
    SYNC();
  }
  double* own = means + 2 * blockIdx.x;
  if (threadIdx.x == 0) own[0] = total / count, own[1] = of_roots / count;
}

extern "C" int sums(const N* squares, int64_t runs, int64_t count, int64_t row, int64_t roots,
                    double* means, void* stream) {
  return LAUNCH(summed, (unsigned)runs, WARP, 1024 * sizeof(N), stream, squares, count, row, roots,
                means);
}
