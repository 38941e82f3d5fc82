// Words of MT19937, and what is made of doubles: sums in the order of NumPy, and its functions.
#include <type_traits>

constexpr int kWords = 624, kMiddle = 397;

template <class Word>
static inline DEVICE_ Word tempered(Word word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

enum { kAdd, kSubtract, kMultiply, kDivide, kSquare, kSqrt, kReciprocal };

// The sum of d[0] to d[count - 1] in the order in which NumPy adds them.
template <class Numbers>
static inline DEVICE_ auto sum(Numbers d, int64_t count, int64_t stride) {
  typedef std::remove_cv_t<std::remove_reference_t<decltype(d[0])>> Number;
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

template <class Number>
static inline DEVICE_ Number combined(int64_t function, Number all, Number one) {
  switch (function) {
    case kAdd: return all + one;
    case kSubtract: return all - one;
    case kMultiply: return all * one;
    default: return all / one;
  }
}

template <class Number>
static inline DEVICE_ Number transformed(int64_t function, Number all) {
  switch (function) {
    case kSquare: return all * all;
    case kSqrt:
      for (unsigned l = 0; l < sizeof(Number) / 8; l++) all[l] = __builtin_sqrt(all[l]);
      return all;
    case kReciprocal: return 1.0 / all;
    default: return all;
  }
}
