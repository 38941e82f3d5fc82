// Elementary functions of vectors F (float) and D (double), one value a lane: exp_, expm1_, log_,
// log1p_, tanh_, sigmoid_, sinh_, cosh_, sin_, cos_, erf_, pow_, atan2_, sqrt_, rint_ (halves
// to even), sign_, abs_, max_, min_.
//
// A lane's result depends on that lane's argument alone and has the same bits on every processor
// and at every vector width: only IEEE + - * / and square roots, comparisons, integer operations
// and conversions are used, and nothing is contracted (compile with -ffp-contract=off).
// Special values and subnormal numbers follow C99; NaN propagates.
//
// This file comes after prelude.h or one_lane.h, which define DEVICE_, Vector and L. Functions
// of F are evaluated in double to about 1e-10 and rounded once. Functions of D carry a second
// double (`Pair`) where one is not enough. Both work on parts as wide as the registers.
//
// Largest errors measured, in units in the last place: F 0.504 (all); D exp_, log_, log1p_ 0.53,
// tanh_ 0.56, expm1_ 0.59, sinh_, cosh_ 0.78, sin_, cos_, erf_ 0.89, pow_ 0.75, atan2_ 0.84;
// 0.75 where a result is subnormal.

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
static inline DEVICE_ N V(T number) { return number - N{}; }
#define INF_ T(__builtin_inf())
#define NAN_ T(__builtin_nan(""))

#define INLINE_ static inline DEVICE_ __attribute__((always_inline))
#ifdef CALLED  // by models that would take minutes to compile
#define LONG_ static DEVICE_ __attribute__((noinline))
#else
#define LONG_ INLINE_
#endif

namespace elementary {

#if defined(__AVX512F__)
constexpr int WIDEST = 8;
#define LOWER_ 0, 1, 2, 3, 4, 5, 6, 7
#define UPPER_ 8, 9, 10, 11, 12, 13, 14, 15
#elif defined(__AVX__)
constexpr int WIDEST = 4;
#define LOWER_ 0, 1, 2, 3
#define UPPER_ 4, 5, 6, 7
#else
constexpr int WIDEST = 2;
#define LOWER_ 0, 1
#define UPPER_ 2, 3
#endif
constexpr int P = L < WIDEST ? L : WIDEST;  // lanes of a part
typedef Vector<float, P> f;
typedef Vector<double, P> d;
typedef Vector<int64_t, P> j;
typedef Vector<uint64_t, P> u;

constexpr double LOG2E = 1.4426950408889634, LN2 = 0.6931471805599453;
constexpr double LN2_HI = 0.6931471805592082, LN2_LO = 7.371002565167799e-13;  // HI has 40 bits
constexpr double MAGIC = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
constexpr int64_t ONE = 0x3ff0000000000000;   // bits of 1.0
constexpr double INF = __builtin_inf(), NOT_A_NUMBER = __builtin_nan("");

template <class V> using Mask = decltype(V{} < V{});
template <class V> INLINE_ V all(double a) { return V{} + (decltype(V{}[0] + V{}[0]))a; }

template <class V> INLINE_ V sign_bit(V x) { return (V)((Mask<V>)x & (Mask<V>)-V{}); }
template <class V> INLINE_ V absolute(V x) { return (V)((Mask<V>)x & ~(Mask<V>)-V{}); }
template <class V> INLINE_ V copy_sign(V x, V s) { return (V)((Mask<V>)x | (Mask<V>)sign_bit(s)); }

// The smaller or larger of x and a bound; NaN stays.
template <class V> INLINE_ V at_most(V x, double a) { return x > all<V>(a) ? all<V>(a) : x; }
template <class V> INLINE_ V at_least(V x, double a) { return x < all<V>(a) ? all<V>(a) : x; }

// a + b x + c x^2 + ..., even and odd powers apart, which halves the chain of operations.
template <class V> INLINE_ V every_second(V, double a, double = 0.0) { return all<V>(a); }
template <class V, class... C>
INLINE_ V every_second(V xx, double a, double, C... c) { return every_second(xx, c...) * xx + a; }
template <class V, class... C> INLINE_ V polynomial(V x, double a, C... c) {
    V xx = x * x;
    return every_second(xx, a, c...) + every_second(xx, c...) * x;
}

// To doubles; GCC alone would convert in two halves.
template <class A, class W = d> INLINE_ W widened(A x) {
#if defined(__AVX512F__) && !defined(__clang__)
    if constexpr (sizeof(A) == 32 && sizeof(W) == 64)
        return __builtin_ia32_cvtps2pd512_mask(x, W{}, -1, 4);
#elif defined(__AVX__) && !defined(__clang__)
    if constexpr (sizeof(A) == 16 && sizeof(W) == 32) return __builtin_ia32_cvtps2pd256(x);
#endif
    return __builtin_convertvector(x, W);
}
// Apply a function of parts of doubles to all lanes; floats are converted, and rounded at the end.
// The two halves of a register pass through registers, not through memory.
template <class V, class G, class... A> INLINE_ V each(G g, const A&... x) {
    using T = decltype(V{}[0] + V{}[0]);
    typedef Vector<T, P> part;
    if constexpr (sizeof(T) == 4 && L == 2 * WIDEST) {
        d a = g(widened(__builtin_shufflevector(x, x, LOWER_))...);
        d b = g(widened(__builtin_shufflevector(x, x, UPPER_))...);
        return __builtin_shufflevector(__builtin_convertvector(a, part),
                                       __builtin_convertvector(b, part), LOWER_, UPPER_);
    }
    auto load = [](const V& v, int k) __attribute__((always_inline)) {
        part p;
        std::memcpy(&p, (const char*)&v + k * sizeof(part), sizeof(part));
        return widened(p);
    };
    V result;
#pragma GCC unroll 16
    for (int k = 0; k < L / P; k++) {
        part p = __builtin_convertvector(g(load(x, k)...), part);
        std::memcpy((char*)&result + k * sizeof(part), &p, sizeof(part));
    }
    return result;
}

// ---- F: double arithmetic, rounded once -------------------------------------------------------

// e^x and e^x - 1 for |x| <= 110: x = n ln 2 + r with |r| <= ln(2)/2, t = n + MAGIC, and a
// polynomial for (e^r - 1) / r, relative error below 3e-10.
INLINE_ F bounded(F x) { return at_least(at_most(x, 110.0), -110.0); }
INLINE_ d power_of_two(d t) { return (d)(((j)t << 52) + ONE); }  // 2^n of t = n + MAGIC
struct Exponent { d t, expm1; };
INLINE_ Exponent exponent_f(d x) {
    d t = x * LOG2E + MAGIC, r = x - (t - MAGIC) * LN2;
    return {t, r * polynomial(r, 1.0, 0.5000000047146057, 0.16666666719028936, 0.04166635277111221,
        0.00833329846980059, 0.0013941118895837, 0.00019899285575896282)};
}
INLINE_ d exp_f(d x) {
    Exponent e = exponent_f(x);
    return (d)((j)(1.0 + e.expm1) + ((j)e.t << 52));
}
INLINE_ d expm1_f(d x) {
    Exponent e = exponent_f(x);
    d scale = power_of_two(e.t);
    return e.expm1 * scale + (scale - 1.0);
}
INLINE_ d tanh_f(d x) {
    d e = expm1_f(2.0 * x);
    return e / (e + 2.0);
}
INLINE_ d sinh_f(d x) {
    d e = expm1_f(absolute(x));
    return copy_sign(0.5 * (e + e / (e + 1.0)), x);
}
INLINE_ d cosh_f(d x) {
    d e = exp_f(absolute(x));
    return 0.5 * (e + 1.0 / e);
}

// x = 2^k m with sqrt(1/2) <= m < sqrt(2), for positive normal x.
struct Mantissa { d k, m; };
INLINE_ Mantissa mantissa(d x) {
    constexpr int64_t ROOT = 0x3fe6a09e667f3bcd;  // bits of sqrt(1/2)
    j biased = (j)((u)((j)x + (ONE - ROOT)) >> 52);
    d k = (d)(biased | 0x4330000000000000) - (4503599627370496.0 + 1023.0);
    return {k, (d)((j)x - (biased << 52) + ONE)};
}

// log(2^k (1 + a)) = k ln 2 + 2 atanh(a / (2 + a)), relative error below 5e-12.
INLINE_ d log_f(d k, d a) {
    d s = a / (2.0 + a);
    return k * LN2 + s * polynomial(s * s, 2.0000000000083635, 0.6666666524691081,
        0.4000038479011479, 0.2853504356313236, 0.23616504319718873);
}
INLINE_ d log_f(d x) {
    Mantissa a = mantissa(x);
    return log_f(a.k, a.m - 1.0);
}
INLINE_ d log1p_f(d x) {
    Mantissa a = mantissa(1.0 + x);
    return log_f(a.k, a.k == 0.0 ? x : a.m - 1.0);
}
// exp(y log x) with an error of the logarithm below 4e-16.
INLINE_ d pow_f(d x, d y) {
    Mantissa a = mantissa(x);
    d b = a.m - 1.0, s = b / (2.0 + b);  // as in log_f, so that compilers share it
    d log = s * polynomial(s * s, 2.0000000000000004, 0.6666666666655285, 0.40000000061773056,
        0.2857141601597565, 0.22223434921408206, 0.18121922003893642, 0.16837813568898644);
    return exp_f(at_least(at_most(y * (a.k * LN2 + log), 110.0), -110.0));
}

// (-1)^n sin(r) for x = n pi + r (shift 0), or cos(x) with x = (n + 1/2) pi + r, |r| <= pi/2.
// Absolute error of r below 2^-64 and relative error of the sine below 2e-11, for |x| <= 2^20.
template <int cosine> INLINE_ d sine_f(d x) {
    d turns = x * 0.3183098861837907, t = (cosine ? turns - 0.5 : turns) + MAGIC;
    d n = cosine ? (t - MAGIC) + 0.5 : t - MAGIC;
    d r = (x - n * 3.1415926534682512) - n * 1.2154201013012384e-10;
    d v = r * polynomial(r * r, 0.9999999999829089, -0.16666666616790812, 0.008333330973271878,
        -0.00019840861058037127, 2.752526349541792e-06, -2.3889104032675583e-08);
    return (d)((j)v ^ (((j)t + cosine) << 63));
}

// One polynomial in x^2 for all |x| <= 3.92, beyond which floats are 1; relative error below 1e-10.
INLINE_ d erf_f(d x) {
    d t = x * x * 0.12987012987012986 - 1.0;
    return x * polynomial(t, 0.3603436366590295, -0.1799163379522135, 0.13395365682033802,
        -0.10910347397380023, 0.09060564527030969, -0.07406104023334081, 0.05828590793294126,
        -0.043556874218208926, 0.030657740966904188, -0.020259204869559854, 0.012577676447680503,
        -0.007299060118280377, 0.003914435658448685, -0.0020213344224970374, 0.0010745357490284046,
        -0.0004808483732138104, 0.00012682570701792614, -5.791579470681091e-05,
        6.131653532999574e-05, -2.1699371897292845e-05);
}

// ---- D: sums and products of pairs of doubles -------------------------------------------------

template <class T> struct Pair { T h, l; };  // h + l, |l| at most half a unit of h
typedef Pair<d> dd;

template <class T> INLINE_ Pair<T> fast_sum(T a, T b) {  // exact where |a| >= |b| or a = 0
    T s = a + b;
    return {s, b - (s - a)};
}
template <class T> INLINE_ Pair<T> sum(T a, T b) {  // exact
    T s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
template <class T> INLINE_ T upper(T a) {  // a rounded to 26 bits
    T c = a * 134217729.0;
    return c - (c - a);
}
template <class T> INLINE_ Pair<T> product(T a, T b) {  // exact unless parts underflow
    T p = a * b, ah = upper(a), al = a - ah, bh = upper(b), bl = b - bh;
    return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}
template <class T> INLINE_ Pair<T> times(Pair<T> a, Pair<T> b) {
    Pair<T> p = product(a.h, b.h);
    return fast_sum(p.h, p.l + (a.h * b.l + a.l * b.h));
}
INLINE_ dd quotient(dd a, dd b) {
    d q = a.h / b.h;
    dd p = product(q, b.h);
    return {q, (((a.h - p.h) - p.l) + (a.l - q * b.l)) / b.h};
}
INLINE_ d over(dd a, dd b) {  // a / b, rounded nearly correctly
    dd q = quotient(a, b);
    return q.h + q.l;
}
INLINE_ d nearest(d x) { return (x + MAGIC) - MAGIC; }
INLINE_ d scaled(d x, d n) {  // x 2^n, in two steps as 2^n alone may be out of range
    d half = nearest(0.5 * n);
    return x * power_of_two(half + MAGIC) * power_of_two((n - half) + MAGIC);
}

// The basis of all exponentials: e^(x + low) = 2^n (1 + m), relative error below 2^-60, for
// |x| < 1000.
struct Exp { d n; dd m; };
INLINE_ Exp exponential(d x, d low) {
    d n = nearest(x * LOG2E);
    dd r = sum(x - n * LN2_HI, low - n * LN2_LO);
    dd square = product(r.h, 0.5 * r.h);
    dd m = fast_sum(r.h, square.h);
    d tail = r.h * (r.h * r.h) * polynomial(r.h, 0.16666666666666669, 0.041666666666666664,
        0.008333333333330062, 0.0013888888888886552, 0.00019841269863053618, 2.4801587317144498e-05,
        2.7557268459997064e-06, 2.755728296954995e-07, 2.510038549551032e-08,
        2.0911236630261545e-09);
    return {n, fast_sum(m.h, m.l + (square.l + (r.l + r.h * r.l) + tail))};
}
INLINE_ dd plus(d a, dd m) {  // |a| >= |m| or a = 0
    dd s = fast_sum(a, m.h);
    return fast_sum(s.h, s.l + m.l);
}
INLINE_ d exp_d(d x, d low) {
    Exp e = exponential(x, low);
    return scaled(plus(d{} + 1.0, e.m).h, e.n);
}
INLINE_ dd minus_one(Exp e) {  // (e^x - 1) / 2^n, for n >= -1022
    dd a = sum(d{} + 1.0, -power_of_two(MAGIC - at_most(e.n, 100.0)));
    return plus(a.h, dd{e.m.h, e.m.l + a.l});
}
INLINE_ d exp_d(d x) {
    d v = exp_d(at_least(at_most(x, 710.0), -746.0), d{});
    return x != x ? x : v;
}
INLINE_ d expm1_d(d x) {
    Exp e = exponential(at_least(at_most(x, 710.0), -40.0), d{});
    d v = scaled(minus_one(e).h, e.n);
    return (x != x) | (x == 0.0) ? x : v;
}
INLINE_ d tanh_d(d x) {  // (e^2|x| - 1) / (e^2|x| - 1 + 2)
    Exp e = exponential(at_most(2.0 * absolute(x), 40.0), d{});
    dd a = minus_one(e), b = sum(a.h, 2.0 * power_of_two(MAGIC - e.n));
    d v = over(a, dd{b.h, b.l + a.l});
    return x != x ? x : copy_sign(v, x);
}
INLINE_ d sigmoid_d(d x) {  // 1 / (1 + e^-x), or e^x / (1 + e^x)
    Exp e = exponential(-at_most(absolute(x), 746.0), d{});
    d one = d{} + 1.0, t = power_of_two(at_least(e.n, -100.0) + MAGIC);
    dd m = plus(one, e.m), below = plus(one, dd{t * m.h, t * m.l});
    d v = over(dd{x < 0.0 ? m.h : one, x < 0.0 ? m.l : d{}}, below);
    return x != x ? x : scaled(v, x < 0.0 ? e.n : d{});
}
INLINE_ d cosh_d(d x) {  // (E + 1 / E) / 2
    Exp e = exponential(at_most(absolute(x), 711.0), d{});
    dd m = plus(d{} + 1.0, e.m);
    d t = power_of_two(MAGIC - at_most(e.n, 100.0));
    dd s = sum(m.h, t * t / m.h);
    d v = scaled(s.h + (s.l + m.l), e.n - 1.0);
    return x != x ? x : v;
}
INLINE_ d sinh_d(d x) {  // with E = e^|x|: (E - 1 + (E - 1) / E) / 2
    Exp e = exponential(at_most(absolute(x), 711.0), d{});
    dd a = minus_one(e);
    d t = power_of_two(MAGIC - at_most(e.n, 100.0));
    dd s = fast_sum(a.h, t * over(a, plus(d{} + 1.0, e.m)));
    d v = scaled(s.h + (s.l + a.l), e.n - 1.0);
    return x != x ? x : copy_sign(v, x);
}

// A series below 1, and 1 - e^(-x^2) times a polynomial in (x - 1) / (x + 1) above.
INLINE_ d erf_d(d x) {
    d a = at_most(absolute(x), 6.0), t = (a - 1.0) / (a + 1.0);
    dd x1 = {a, d{}}, z = product(a, a), x3 = times(x1, z);
    dd p = times(x1, dd{d{} + 1.1283791670955126, d{} + 1.533545961316588e-17});
    dd q = times(x3, dd{d{} - 0.37612638903183754, d{} + 1.3391897206030649e-17});
    dd r = fast_sum(p.h, q.h);
    d inner = r.h + (r.l + p.l + q.l + a * z.h * z.h
        * polynomial(z.h, 0.11283791670955126, -0.026866170645130708, 0.005223977625420381,
        -0.0008548327020043337, 0.00012055332708328989, -1.4925637531782307e-05,
        1.6461738287085947e-06, -1.6358733320091932e-07, 1.4720178034606829e-08,
        -1.1619810857483397e-09, 6.395926190182063e-11));
    d outer = 1.0 - exp_d(-z.h, -z.l) * polynomial(t, 0.427583576155807, -0.5464240295677968,
        0.07106221591976672, 0.054732709881822036, 0.005744191561614368, -0.00792640562876498,
        -0.005392931385134456, -0.0012101080769104506, 0.0006940098002508781, 0.0009023718195257869,
        0.00029381833390175894, 0.0005963648737695556, -0.0014880748133838724,
        0.0026980133883132244, -0.004320840964847198, 0.004683056242051993, -0.0035856881421449348,
        0.0017215325727894478, -0.0003638001487375204);
    d tiny = a * 1.1283791670955126;  // as parts of products underflow
    d v = a < 0x1p-500 ? tiny : a < 1.0 ? inner : outer;
    return x != x ? x : copy_sign(v, x);
}

// Half of log(1 + a.h + a.l): s = a / (2 + a) to 2^-75, by a short s.h whose products are exact.
INLINE_ dd half_log(dd a) {
    d b = a.h + 2.0, inverse = 1.0 / b, bh = upper(b), bl = (a.h - (bh - 2.0)) + a.l;
    d s = upper(a.h * inverse);
    return {s, (((a.h - s * bh) - s * bl) + a.l) * inverse};
}
INLINE_ d log_d(d k, dd a) {
    dd s = half_log(a);
    d whole = s.h + s.l, z = whole * whole;
    d tail = whole * z * polynomial(z, 0.6666666666666666, 0.4000000000000088, 0.2857142857080323,
        0.2222222239180047, 0.18181795630884753, 0.15386240205813478, 0.13268759668560612,
        0.13086767009948175);
    dd v = fast_sum(k * LN2_HI, 2.0 * s.h);
    return v.h + (v.l + (k * LN2_LO + (2.0 * s.l + tail)));
}
INLINE_ Mantissa mantissa_d(d x) {  // of subnormal x too
    auto small = x < 0x1p-1022;
    Mantissa a = mantissa(small ? x * 0x1p54 : x);
    return {small ? a.k - 54.0 : a.k, a.m};
}
INLINE_ d log_d(d x) {
    Mantissa a = mantissa_d(x);
    return log_d(a.k, dd{a.m - 1.0, d{}});
}
INLINE_ d log1p_d(d x) {
    dd y = sum(d{} + 1.0, x);
    Mantissa a = mantissa(y.h);
    d v = log_d(a.k, sum(a.m - 1.0, y.l * power_of_two(MAGIC - at_most(a.k, 1000.0))));
    return absolute(x) < 0x1p-60 ? x : v;
}
// e^(y log x), the logarithm to 2^-68: log = k ln 2 + 2 s + 2 s z (1/3 + z (1/5 + z (...))).
INLINE_ d pow_d(d x, d y) {
    Mantissa a = mantissa_d(x);
    dd s = half_log(dd{a.m - 1.0, d{}});
    s = fast_sum(s.h, s.l);
    dd z = times(s, s);
    d rest = z.h * polynomial(z.h, 0.14285714285714285, 0.11111111111111474, 0.09090909090650334,
        0.07692307762474186, 0.06666657336287023, 0.058830251424610534, 0.05236447707177386,
        0.05308572170586171);
    dd c = plus(d{} + 0.2, dd{rest, d{} + -1.1102230246251566e-17});
    c = plus(d{} + 0.3333333333333333, times(z, c));
    c.l += 1.850371707708594e-17;
    c = times(s, times(z, c));
    dd log = plus(2.0 * s.h, dd{2.0 * c.h, 2.0 * (c.l + s.l)});
    dd v = fast_sum(a.k * LN2_HI, log.h);
    log = fast_sum(v.h, v.l + (log.l + a.k * LN2_LO));
    y = at_least(at_most(y, 0x1p64), -0x1p64);
    dd p = product(y, log.h);
    p.l = absolute(p.h) < 800.0 ? p.l + y * log.l : d{};
    return exp_d(at_least(at_most(p.h, 800.0), -800.0), p.l);
}

// Lanes whose sine is computed the long way; NaN and infinity are not among them.
template <class V> INLINE_ Mask<V> large(V x) {
    return (absolute(x) > all<V>(0x1p20)) & (absolute(x) < all<V>(INF));
}
template <class M> INLINE_ bool any(M mask) {  // by halves, as single lanes leave the registers
    if constexpr (sizeof(M) > 16) {
        typedef Vector<decltype(mask[0] | mask[0]), int(sizeof(M) / sizeof(mask[0]) / 2)> half;
        half h[2];
        std::memcpy(h, &mask, sizeof(M));
        return any(h[0] | h[1]);
    } else {
        uint64_t w[2] = {};
        std::memcpy(w, &mask, sizeof(M));
        return (w[0] | w[1]) != 0;
    }
}
// x = n pi/2 + r, |r| <= pi/4.
struct Angle { d n; dd r; };

// The same for one |x| >= 2^20, after Payne and Hanek: the fraction of x / (2 pi) from those 192
// bits of 2/pi that matter.
INLINE_ void reduce_large(double x, double& n, double& h, double& l) {
    typedef unsigned __int128 wide;
    static const uint64_t TWO_OVER_PI[20] = {  // after 64 zero bits
        0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
        0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
        0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
        0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
        0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
    uint64_t b, m, w[3];
    std::memcpy(&b, &x, 8);
    int start = int(b >> 52 & 2047) - 1075 + 62;
    for (int i = 0; i < 3; i++) {
        wide two = (wide)TWO_OVER_PI[start / 64 + i] << 64 | TWO_OVER_PI[start / 64 + i + 1];
        w[i] = uint64_t(two << start % 64 >> 64);
    }
    m = (b & 0xfffffffffffff) | 0x10000000000000;
    wide turn = ((wide)(m * w[0]) << 64) + (wide)m * w[1] + ((wide)m * w[2] >> 64);
    uint64_t quarter = uint64_t((turn + ((wide)1 << 125)) >> 126);
    __int128 rest = (__int128)(turn - ((wide)quarter << 126));
    double sign = x < 0 ? -1.0 : 1.0, a = (double)rest;
    Pair<double> r = times(Pair<double>{a, (double)(rest - (__int128)a)},
                           Pair<double>{1.5707963267948966, 6.123233995736766e-17});
    n = sign * double(quarter & 3);
    h = sign * 0x1p-126 * r.h;
    l = sign * 0x1p-126 * r.l;
}
static DEVICE_ __attribute__((noinline, cold)) Angle with_large(d x, Angle a) {
    for (int i = 0; i < P; i++)
        if (large(x)[i]) {
            double n, h, l;
            reduce_large(x[i], n, h, l);
            a.n[i] = n, a.r.h[i] = h, a.r.l[i] = l;
        }
    return a;
}
INLINE_ Angle reduce_d(d x) {  // by pi/2 in parts of 33 bits, whose products are exact
    d n = nearest(x * 0.6366197723675814);
    dd a = sum(x - n * 1.5707963267341256, n * -6.077100506303966e-11);
    dd r = sum(a.h, n * -2.0222662487111665e-21);
    r = sum(r.h, (a.l + r.l) - n * 8.4784276603689e-32);
    return any(large(x)) ? with_large(x, Angle{n, r}) : Angle{n, r};
}
// sin(x + turn pi/2): the series of sine and cosine, then the one of the quadrant.
INLINE_ d sine_d(d x, int turn) {
    auto [n, r] = reduce_d(x);
    dd half = product(r.h, 0.5 * r.h);
    d z = 2.0 * half.h;
    d s = r.h + (r.l * (1.0 - half.h) + r.h * z * polynomial(z, -0.16666666666666666,
        0.008333333333330936, -0.00019841269836740532, 2.7557316093198404e-06,
        -2.5051129896450185e-08, 1.5917988979397435e-10));
    dd w = fast_sum(d{} + 1.0, -half.h);
    d c = w.h + (w.l - half.l + (z * z * polynomial(z, 0.041666666666666664, -0.0013888888888887389,
        2.48015872987544e-05, -2.755731726587808e-07, 2.087614504941318e-09, -1.138254464534925e-11)
        - r.h * r.l));
    j q = (j)(n + MAGIC) + turn;
    d v = (d)((j)((q & 1) != 0 ? c : s) ^ ((q & 2) << 62));
    return absolute(x) < INF ? v : x - x;
}
INLINE_ d sin_d(d x) {
    d v = sine_d(x, 0);
    return x == 0.0 ? x : v;
}

// The angle of (x, y), from the nearest of axes and diagonals: n pi/4 + s atan(q), with
// |q| <= tan(pi/8), and s = 1 or -1. The series is for floats, of error 3e-11, or for doubles.
template <bool of_floats> INLINE_ d angle(d y, d x) {
    d one = d{} + 1.0, flat = absolute(x), tall = absolute(y), n, s, v;
    auto steep = tall > flat, back = (j)x < 0;
    d low = steep ? flat : tall, high = steep ? tall : flat;
    high = (low == INF) | (high == 0.0) ? one : high;
    low = low == INF ? one : low;
    auto diagonal = low > 0.41421356237309503 * high;
    n = diagonal ? one : d{};
    n = steep ? 2.0 - n : n;
    n = back ? 4.0 - n : n;
    s = steep ^ back ? -one : one;
    if constexpr (of_floats) {
        d q = (diagonal ? low - high : low) / (diagonal ? low + high : high), z = q * q;
        v = n * 0.7853981633974483 + s * (q + q * z * polynomial(z, -0.33333332514600517,
            0.19999905186159878, -0.14282042055411787, 0.11045093306937176, -0.0847840488759705,
            0.04748272525948241));
    } else {
        d scale = high > 0x1p900 ? 0x1p-100 * one : high < 0x1p-900 ? 0x1p100 * one : one;
        low *= scale, high *= scale;
        dd a = sum(low, -high), b = sum(low, high);
        dd q = quotient(dd{diagonal ? a.h : low, diagonal ? a.l : d{}},
                        dd{diagonal ? b.h : high, diagonal ? b.l : d{}});
        q.l = absolute(q.h) > 0x1p-40 ? q.l : d{};  // as its parts underflow
        d z = q.h * q.h, tail = q.h * z * polynomial(z, -0.333333333333332, 0.19999999999954082,
            -0.14285714280248482, 0.11111110786135987, -0.0909089783638643, 0.07692061635873074,
            -0.06663120368575713, 0.05848008797826075, -0.05039844952791462, 0.03807830626138964,
            -0.017922262758958127);
        dd w = fast_sum(n * 0.7853981633670628, s * q.h);
        v = w.h + (w.l + (n * 3.038550253253096e-11 + s * (q.l + tail)));
    }
    return (x != x) | (y != y) ? x + y : copy_sign(v, y);
}

// ---- special values, for both types -----------------------------------------------------------

// Nearest integer, halves to the even one: adding a number whose last bit counts 1 rounds.
template <class V> INLINE_ V rounded(V x) {
    using T = decltype(V{}[0] + V{}[0]);
    V big = copy_sign(all<V>(sizeof(T) == 4 ? 0x1p23 : 0x1p52), x);
    return absolute(x) < absolute(big) ? copy_sign(absolute((x + big) - big), x) : x;
}
// v is the logarithm at finite x > least.
template <class V> INLINE_ V log_cases(V x, V v, double least) {
    V at = x == all<V>(least) ? all<V>(-INF) : all<V>(NOT_A_NUMBER);
    v = x > all<V>(least) ? v : at;
    return x < all<V>(INF) ? v : x;
}
// v is |x|^y for finite x != 0.
template <class V> INLINE_ V pow_cases(V x, V y, V v) {
    V a = absolute(x), zero = V{}, one = zero + 1, half = y * all<V>(0.5), infinity = all<V>(INF);
    v = a == one ? one : a == zero ? (y < zero ? infinity : zero) : v;
    v = a == infinity ? (y < zero ? zero : infinity) : v;
    Mask<V> whole = rounded(y) == y, odd = whole & (rounded(half) != half);
    v = copy_sign(v, odd != 0 ? x : zero);
    v = (x < zero) & (a < infinity) & ~whole ? all<V>(NOT_A_NUMBER) : v;
    v = (x != x) | (y != y) ? x + y : v;
    return (y == zero) | (x == one) ? one : v;
}

// The larger and the smaller; NaN if either is, as torch.maximum; y where both are equal.
template <class V> INLINE_ V larger(V x, V y) { return (x > y) | (x != x) ? x : y; }
template <class V> INLINE_ V smaller(V x, V y) { return (x < y) | (x != x) ? x : y; }
// IEEE's square root; compilers make vectors of the loop, but of half a register's size.
template <class V> INLINE_ V root(V x) {
#if defined(__AVX512F__) && !defined(__clang__)
    if constexpr (sizeof(V) == 64 && sizeof(x[0]) == 4)
        return __builtin_ia32_sqrtps512_mask(x, V{}, -1, 4);
    else if constexpr (sizeof(V) == 64)
        return __builtin_ia32_sqrtpd512_mask(x, V{}, -1, 4);
#endif
    for (unsigned i = 0; i < sizeof(V) / sizeof(x[0]); i++)
        x[i] = sizeof(x[0]) == 4 ? __builtin_sqrtf(x[i]) : __builtin_sqrt(x[i]);
    return x;
}
// -1, 0 or 1 as torch.sign: 0 for zeros of both signs and for NaN.
template <class V> INLINE_ V sign_of(V x) { return x > V{} ? V{} + 1 : x < V{} ? V{} - 1 : V{}; }

#define PART_(expression, ...) [](__VA_ARGS__) __attribute__((always_inline)) { return expression; }
#define FUNCTION_(V, name, part, argument, whole) \
    LONG_ V name(V x) { \
        V v = each<V>(PART_(part, d x), argument); \
        return whole; \
    }
#define FUNCTIONS_(name, part_f, argument, whole_f, part_d) \
    FUNCTION_(F, name, part_f, argument, whole_f) FUNCTION_(D, name, part_d, x, v)
FUNCTION_(F, long_sin, sin_d(x), x, v)
FUNCTION_(F, long_cos, sine_d(x, 1), x, v)
// Choose the long way for the lanes that need it.
template <class G> INLINE_ F sine_cases(F x, F v, G longer) {
    if (any(large(x))) v = large(x) ? longer(x) : v;
    return absolute(x) < all<F>(INF) ? v : x - x;
}

namespace functions {

FUNCTIONS_(exp_, exp_f(x), bounded(x), v, exp_d(x))
FUNCTIONS_(expm1_, expm1_f(x), bounded(x), x == F{} ? x : v, expm1_d(x))
FUNCTIONS_(log_, log_f(x), x, log_cases(x, v, 0.0), log_cases(x, log_d(x), 0.0))
FUNCTIONS_(log1p_, log1p_f(x), x, x == F{} ? x : log_cases(x, v, -1.0),
           log_cases(x, log1p_d(x), -1.0))
FUNCTIONS_(tanh_, tanh_f(x), at_least(at_most(x, 20.0), -20.0), x == F{} ? x : v, tanh_d(x))
FUNCTIONS_(sigmoid_, 1.0 / (1.0 + exp_f(-x)), bounded(x), v, sigmoid_d(x))
FUNCTIONS_(sinh_, sinh_f(x), bounded(x), v, sinh_d(x))
FUNCTIONS_(cosh_, cosh_f(x), bounded(x), v, cosh_d(x))
FUNCTIONS_(sin_, sine_f<0>(x), x, sine_cases(x, v, long_sin), sin_d(x))
FUNCTIONS_(cos_, sine_f<1>(x), x, sine_cases(x, v, long_cos), sine_d(x, 1))
FUNCTIONS_(erf_, erf_f(x), at_least(at_most(x, 3.92), -3.92), v, erf_d(x))

LONG_ F pow_(F x, F y) {
    return pow_cases(x, y, each<F>(PART_(pow_f(x, y), d x, d y), absolute(x), y));
}
static inline DEVICE_ D pow_(D x, D y) {
    return each<D>(PART_(pow_cases(x, y, pow_d(absolute(x), y)), d x, d y), x, y);
}
LONG_ F atan2_(F y, F x) { return each<F>(PART_(angle<true>(y, x), d y, d x), y, x); }
static inline DEVICE_ D atan2_(D y, D x) {
    return each<D>(PART_(angle<false>(y, x), d y, d x), y, x);
}
static inline DEVICE_ F max_(F x, F y) { return larger(x, y); }
static inline DEVICE_ F min_(F x, F y) { return smaller(x, y); }
static inline DEVICE_ D max_(D x, D y) { return each<D>(PART_(larger(x, y), d x, d y), x, y); }
static inline DEVICE_ D min_(D x, D y) { return each<D>(PART_(smaller(x, y), d x, d y), x, y); }

INLINE_ F rint_(F x) { return rounded(x); }
INLINE_ D rint_(D x) { return each<D>(PART_(rounded(x), d x), x); }
INLINE_ F sign_(F x) { return sign_of(x); }
INLINE_ D sign_(D x) { return each<D>(PART_(sign_of(x), d x), x); }
INLINE_ F abs_(F x) { return absolute(x); }
INLINE_ D abs_(D x) { return each<D>(PART_(absolute(x), d x), x); }
static inline DEVICE_ F sqrt_(F x) { return root(x); }
static inline DEVICE_ D sqrt_(D x) { return each<D>(PART_(root(x), d x), x); }

}  // namespace functions
}  // namespace elementary

using namespace elementary::functions;
