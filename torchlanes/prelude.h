// Vectors of runs: every lane is a run of its own, and no operation mixes lanes.
#include <cstdint>
#include <cstring>

#ifndef LANES
#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#endif

constexpr int L = LANES;
#define DEVICE_
template <class T, int count>
using Vector __attribute__((vector_size(count * sizeof(T)))) = T;
typedef Vector<float, L> F;
typedef Vector<int32_t, L> I;
typedef Vector<uint32_t, L> U;
typedef Vector<double, L> D;
typedef Vector<int64_t, L> J;

// T is a number of a model, N a vector of them, M a vector of truth values.
#ifdef DOUBLE
typedef double T;
typedef D N;
typedef J M;
#else
typedef float T;
typedef F N;
typedef I M;
#endif

static inline N V(T number) { return number - N{}; }
constexpr T INF_ = __builtin_inf(), NAN_ = __builtin_nan("");

// A function of a model, which goes through `count` samples from `first` on, if through any.
#define MODEL_FUNCTION(name) \
  extern "C" void name(N* __restrict s, N* __restrict q, const N* __restrict w, \
                       const N* __restrict z, const N* __restrict x, const N* __restrict t, \
                       N* __restrict p, N* __restrict o, int first, int count)

// A piece of a long function, which knows the sample `b` and what all pieces share.
#define PIECE(name) \
  static __attribute__((noinline)) void name(N* __restrict s, N* __restrict q, \
                                             const N* __restrict w, const N* __restrict z, \
                                             const N* __restrict x, const N* __restrict t, \
                                             N* __restrict p, N* __restrict o, int first, \
                                             int count, int b, N* n_, M* m_)

// What is done for each of some samples side by side, whose numbers stay in registers.
#define EACH_OF(count) _Pragma("GCC unroll 16") for (int k = 0; k < count; k++)
