// Elementary functions of arrays whose length is a multiple of 16, for test_functions.py. Compile
// with -DLANES=... and the folder of the headers as -I...
#include "prelude.h"
#include "functions.h"

#define LOOP(name, V, T, value) \
    extern "C" void name(const T* px, const T* py, T* result, int64_t count) { \
        for (int64_t i = 0; i < count; i += L) { \
            V x, y; \
            std::memcpy(&x, px + i, sizeof(V)); \
            std::memcpy(&y, py + i, sizeof(V)); \
            V v = value; \
            std::memcpy(result + i, &v, sizeof(V)); \
        } \
    }
#define ONE(name) \
    LOOP(float_##name, F, float, name##_(x)) LOOP(double_##name, D, double, name##_(x))
#define TWO(name) \
    LOOP(float_##name, F, float, name##_(x, y)) LOOP(double_##name, D, double, name##_(x, y))
ONE(exp) ONE(expm1) ONE(log) ONE(log1p) ONE(tanh) ONE(sigmoid) ONE(erf) ONE(sinh) ONE(cosh) ONE(sin)
ONE(cos) ONE(rint) ONE(sign) ONE(abs) ONE(sqrt)
TWO(pow) TWO(atan2) TWO(min) TWO(max)
