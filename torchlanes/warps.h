// A warp trains a run: its threads have four samples each, or every 32nd of the numbers that do not
// depend on samples, and what is one number is computed by all of them.
#define MODEL_FUNCTION(name)                                                                      \
  static inline DEVICE_ void name(N* s, N* q, const N* w, const N* z, const N* __restrict x,      \
                                  const N* __restrict t, N* p, N* __restrict o, N* part,          \
                                  int first, int count, int lane)

#define EACH_OF(count) UNROLLED for (int k = 0; k < count; k++)

// A number of sample b + k, of `stride` for each: samples are in groups of 128, of which each number
// is in a row, so that a thread reads those of its four samples at once.
#define AT(stride, rest) (round * (stride) + ((rest) * WARP + lane) * 4)
#define OF_SAMPLE(memory, stride, rest) (memory)[AT(stride, rest) + k]
#if defined(__CUDACC__) && !defined(DOUBLE)
static inline DEVICE_ N of_four(const N* at, int k) {
  const float4 all = *(const float4*)at;  // in one load, as the compiler does not do by itself
  return k == 0 ? all.x : k == 1 ? all.y : k == 2 ? all.z : all.w;
}
#define READ_SAMPLE(memory, stride, rest) of_four((memory) + AT(stride, rest), k)
#else
#define READ_SAMPLE OF_SAMPLE
#endif

// What a thread adds to sum number k.
#define PART(k) part[(k) * STRIDE + lane]

// Adds what threads have for the sums from `from` to `end`, in the order of their samples.
#define FOLD(from, end, together)                                                                 \
  do {                                                                                            \
    const int threads = (count - round) / 4 < WARP ? (count - round) / 4 : WARP;                  \
    for (int k = (from) + lane; k < (end); k += WARP) {                                           \
      N all = q[k];                                                                               \
      SOME_UNROLLED for (int thread = 0; thread < threads; thread++) {                            \
        const N one = part[k * STRIDE + thread];                                                  \
        all = together;                                                                           \
      }                                                                                           \
      q[k] = all;                                                                                 \
    }                                                                                             \
  } while (0)

// Runs of one program, one after another in memory; rows are those of iterations. `x_of`, `t_of`
// and `p_of`: where the samples of a run begin in a row. `slow`: memory for all, if what a run needs
// is more than the fast one has. `apart`: iterations do not follow each other. `slice`: how many of
// the samples a warp goes through, of `inputs` and `outputs`.
struct Runs {
  N *s, *o, *p, *slow;
  const N *w, *z, *x, *t;
  const int64_t *x_of, *t_of, *p_of;
  int64_t w_row, w_run, z_row, z_run, x_row, t_row, p_row;
  int64_t runs, samples, slice, inputs, outputs, s_size, q_size, o_size, sums, apart, warps;
};

template <class Part, bool is_fast>
KERNEL void OF_FEW_WARPS act(Runs r, int64_t iterations) {
  SHARED(fast);
  const int lane = threadIdx.x % WARP;
  const int64_t warp = threadIdx.x / WARP, run = blockIdx.x * r.warps + warp;
  if (run >= r.runs) return;
  const int64_t size = r.s_size + r.q_size + r.sums * STRIDE;
  N* s = is_fast ? (N*)fast + warp * size : r.slow + (run * gridDim.y + blockIdx.y) * size;
  N *q = s + r.s_size, *part = q + r.q_size;
  for (int64_t k = lane; k < r.s_size; k += WARP) s[k] = r.s[run * r.s_size + k];
  SYNC();
  const int64_t begin = r.apart ? blockIdx.y : 0, end = r.apart ? begin + 1 : iterations;
  const int64_t first = r.apart ? 0 : blockIdx.y * r.slice;
  const int64_t count = first + r.slice < r.samples ? r.slice : r.samples - first;
  for (int64_t it = begin; it < end; it++) {
    const N *w = r.w + it * r.w_row + run * r.w_run, *z = r.z + it * r.z_row + run * r.z_run;
    const N* x = r.x + it * r.x_row + (r.x_of ? r.x_of[run] : 0) + first * r.inputs;
    const N* t = r.t + it * r.t_row + (r.t_of ? r.t_of[run] : 0) + first * r.outputs;
    N* p = r.p + it * r.p_row + (r.p_of ? r.p_of[run] : 0);
    Part::all(s, q, w, z, x, t, p, r.o + run * r.o_size, part, (int)first, (int)count, lane);
  }
  if (!r.apart && r.slice >= r.samples)
    for (int64_t k = lane; k < r.s_size; k += WARP) r.s[run * r.s_size + k] = s[k];
}

// Lets a part of a program act, and returns what is wrong, 0 if nothing is.
#define LAUNCHED(name)                                                                            \
  struct of_##name {                                                                              \
    static DEVICE_ void all(N* s, N* q, const N* w, const N* z, const N* x, const N* t, N* p,     \
                            N* o, N* part, int first, int count, int lane) {                      \
      name##_begin(s, q, w, z, x, t, p, o, part, first, count, lane);                             \
      SYNC();                                                                                     \
      name##_block(s, q, w, z, x, t, p, o, part, first, count, lane);                             \
      SYNC();                                                                                     \
      name##_update(s, q, w, z, x, t, p, o, part, first, count, lane);                            \
      SYNC();                                                                                     \
    }                                                                                             \
  };                                                                                              \
  extern "C" int name##_launch(const Runs* r, int64_t iterations, void* stream) {                 \
    const int64_t bytes = r->warps * (r->s_size + r->q_size + r->sums * STRIDE) * sizeof(N);      \
    const int64_t parts = r->apart ? iterations : (r->samples + r->slice - 1) / r->slice;         \
    const dim3 grid((r->runs + r->warps - 1) / r->warps, parts);                                  \
    const unsigned threads = r->warps * WARP;                                                     \
    return r->slow ? LAUNCH((act<of_##name, false>), grid, threads, 0, stream, *r, iterations)    \
                   : LAUNCH((act<of_##name, true>), grid, threads, bytes, stream, *r, iterations); \
  }
