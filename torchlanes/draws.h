// Samples on a GPU, drawn as runtime.cpp does: the threads of a block draw the doubles of a
// generator; then all at once make the samples of all ranges of them.
constexpr int kAtOnce = 113, kThreads = 128, kRing = 1024;

// `words`: the next ones of each generator. Sets of samples of generator k are those from
// of_generator[k] to of_generator[k + 1], and sets of targets of set k of samples likewise.
// `slices`: from, to of the operands of each set of targets. `doubles`: of all iterations of each
// generator. A block makes 2^portion_bits samples of a batch.
struct Draws {
  uint32_t* words;
  const double *low, *width;
  const int *of_generator, *of_set, *slices, *functions, *operands;
  double* doubles;
  N *x, *t;
  int64_t generators, sets, targets, batch, inputs, portion_bits, most_operands;
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

// New words go where no thread reads before all have been here again.
KERNEL void drawn(Draws d, int64_t count) {
  SHARED(memory);
  uint32_t *ring = (uint32_t*)memory, *words = d.words + blockIdx.x * kWords;
  double* doubles = d.doubles + blockIdx.x * count;
  const int me = threadIdx.x;
  for (int k = me; k < kWords; k += kThreads) ring[k] = words[k];
  SYNC_ALL();
  uint32_t first = 0;
  const auto word = [&](uint32_t k) -> uint32_t& { return ring[(first + k) % kRing]; };
  for (int64_t done = 0; done < count; done += kAtOnce) {
    const int pairs = done + kAtOnce < count ? kAtOnce : count - done, at = 2 * me;
    if (me < pairs) {
      const uint32_t a = word(at), b = word(at + 1), c = word(at + 2);
      const double high = tempered(a) >> 5, rest = tempered(b) >> 6;
      doubles[done + me] = (high * 67108864.0 + rest) * 0x1p-53;
      word(at + kWords) = twisted(a, b, word(at + kMiddle));
      word(at + 1 + kWords) = twisted(b, c, word(at + 1 + kMiddle));
    }
    first += 2 * pairs;
    SYNC_ALL();
  }
  for (int k = me; k < kWords; k += kThreads) words[k] = word(k);
}

KERNEL void made(Draws d, int64_t iterations) {
  SHARED(doubles);
  const int me = threadIdx.x, inputs = d.inputs, wide = inputs | 1, batch = d.batch;
  const int t_size = (batch + 127) / 128 * 128, portion = 1 << d.portion_bits;
  const int parts = (batch + portion - 1) / portion, it = blockIdx.x / parts;
  const int first = blockIdx.x % parts * portion;
  const int some = first + portion < batch ? portion : batch - first;
  const uint64_t one_of_inputs = ((uint64_t(1) << 32) + inputs - 1) / inputs;  // divides below 2^16
  const double* drawn = d.doubles + ((blockIdx.y * iterations + it) * batch + first) * inputs;
  for (int place = me; place < some * inputs; place += kThreads) {
    const int row = place * one_of_inputs >> 32;
    doubles[place + row * (wide - inputs)] = drawn[place];
  }
  SYNC_ALL();
  for (int set = d.of_generator[blockIdx.y]; set < d.of_generator[blockIdx.y + 1]; set++) {
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
        const int function = d.functions[k];
        D all = part_of(from, at);
        for (at += 2; at < end; at += 2) all = combined(function, all, part_of(from, at));
        d.t[(it * d.targets + k) * t_size + first + b] = N(T(transformed(function, all).v));
      }
  }
}

extern "C" int draw(const Draws* d, int64_t iterations, void* stream) {
  const int64_t portion = int64_t(1) << d->portion_bits, parts = (d->batch + portion - 1) / portion;
  const dim3 all(unsigned(iterations * parts), unsigned(d->generators));
  const int wrong = LAUNCH(drawn, (unsigned)d->generators, kThreads, kRing * 4, stream, *d,
                           iterations * d->batch * d->inputs);
  const int64_t bytes = portion * (d->inputs | 1) * sizeof(double);
  return wrong ? wrong : LAUNCH(made, all, kThreads, bytes, stream, *d, iterations);
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
