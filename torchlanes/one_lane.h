// In the place of prelude.h: vectors of one run, as the threads of a GPU are no vectors. A warp
// trains a run: each of its threads has some of the samples of a batch, or of the numbers that do
// not depend on samples.
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define DEVICE_ __device__
#define KERNEL static __global__
#define SYNC() __syncwarp()
#define SYNC_ALL() __syncthreads()
#define SHARED(memory) extern __shared__ double memory[]
#define LAUNCH(kernel, grid, block, bytes, stream, ...)                                     \
  (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes)), \
   kernel<<<grid, block, bytes, (cudaStream_t)stream>>>(__VA_ARGS__), (int)cudaGetLastError())
#define UNROLLED _Pragma("unroll")
#define SOME_UNROLLED _Pragma("unroll 16")
#define OF_FEW_WARPS __launch_bounds__(128, 1)  // which leaves registers for many loads at once
#else  // compiled for a processor that acts as a GPU, which tests do: they define the others
#define DEVICE_
#define UNROLLED _Pragma("GCC unroll 16")
#define SOME_UNROLLED
#endif

constexpr int L = 1;
constexpr int WARP = 32, STRIDE = WARP + 1;  // threads, and parts of a sum in memory

template <int bytes> struct Truth { typedef int32_t type; };
template <> struct Truth<8> { typedef int64_t type; };

// A vector of one number, which does what those of compilers do.
template <class T> struct One {
  typedef T number;
  typedef One<typename Truth<sizeof(T)>::type> Mask;
  T v;
  One() = default;
  DEVICE_ One(T v) : v(v) {}
  template <class A> DEVICE_ explicit One(One<A> other) { std::memcpy(&v, &other.v, sizeof(T)); }
  DEVICE_ explicit operator bool() const { return v != 0; }
  DEVICE_ T& operator[](int) { return v; }
  DEVICE_ T operator[](int) const { return v; }

#define NUMBER(sign) \
  friend DEVICE_ One operator sign(One a, One b) { return T(a.v sign b.v); }
#define TRUTH(sign) \
  friend DEVICE_ Mask operator sign(One a, One b) { return -int(a.v sign b.v); }
  NUMBER(+) NUMBER(-) NUMBER(*) NUMBER(/) NUMBER(&) NUMBER(|) NUMBER(^) NUMBER(<<) NUMBER(>>)
  TRUTH(<) TRUTH(<=) TRUTH(>) TRUTH(>=) TRUTH(==) TRUTH(!=)
};
template <class T> DEVICE_ One<T> operator-(One<T> a) { return T(-a.v); }
template <class T> DEVICE_ One<T> operator~(One<T> a) { return T(~a.v); }
template <class T, class A> DEVICE_ One<T>& operator+=(One<T>& a, A b) { return a = a + b; }
template <class T, class A> DEVICE_ One<T>& operator*=(One<T>& a, A b) { return a = a * b; }
template <class T, class A> DEVICE_ One<T>& operator^=(One<T>& a, A b) { return a = a ^ b; }

template <class T, int count> using Vector = One<T>;
#define __builtin_convertvector(x, V) V((typename V::number)(x)[0])
#ifdef __CUDACC__
#define __builtin_sqrtf sqrtf
#define __builtin_sqrt sqrt
#endif
