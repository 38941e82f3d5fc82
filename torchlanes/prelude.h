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

// A function of a model, which goes through `count` samples from `first` on, if through any.
#define GIVEN_ \
  N *__restrict s, N *__restrict q, const N *__restrict w, const N *__restrict z, \
      const N *__restrict x, const N *__restrict t, N *__restrict p, N *__restrict o, int first, \
      int count
#define MODEL_FUNCTION(name) extern "C" void name(GIVEN_)

// A piece of a long function, which knows the sample `b` and what all pieces share.
#define PIECE(name) static __attribute__((noinline)) void name(GIVEN_, int b, N* n_, M* m_)

// What is done for each of some samples side by side, whose numbers stay in registers.
#define EACH_OF(count) _Pragma("GCC unroll 16") for (int k = 0; k < count; k++)
