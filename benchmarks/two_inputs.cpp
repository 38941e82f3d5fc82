// A hand-written loop: NMUs of two inputs, batches of 128, Adam, constraints; one run in each lane.
// Runs are 25 seeds of nine ranges, which share the doubles of a seed. Prints the CPU time in
// microseconds of a run and iteration, and a sum of weights, so that nothing can be left out.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#ifdef __AVX512F__
constexpr int L = 16;
#else
constexpr int L = 8;
#endif
typedef float F __attribute__((vector_size(L * 4)));
typedef uint32_t U __attribute__((vector_size(L * 4)));
typedef int32_t I __attribute__((vector_size(L * 4)));
typedef double D __attribute__((vector_size(L * 8)));

constexpr int kBatch = 128, kSeeds = 25, kRanges = 9, kTiles = (kSeeds + L - 1) / L;
constexpr double kLow[kRanges] = {-20, -2, -1.2, -0.2, -2, 0.1, 1, 1.1, 10};
constexpr double kHigh[kRanges] = {-10, -1, -1.1, -0.1, 2, 0.2, 2, 1.2, 20};

struct Generator {
  U key[624];
  int at = 624;
};

static U twisted(U first, U second, U far) {
  const U joined = (first & 0x80000000u) | (second & 0x7fffffffu);
  return far ^ (joined >> 1) ^ ((U)(-(I)(second & 1u)) & 0x9908b0dfu);
}

static U word(Generator& g) {
  if (g.at == 624) {
    U* k = g.key;
    for (int i = 0; i < 227; i++) k[i] = twisted(k[i], k[i + 1], k[i + 397]);
    for (int i = 227; i < 623; i++) k[i] = twisted(k[i], k[i + 1], k[i - 227]);
    k[623] = twisted(k[623], k[0], k[396]);
    g.at = 0;
  }
  U w = g.key[g.at++];
  w ^= w >> 11;
  w ^= (w << 7) & 0x9d2c5680u;
  w ^= (w << 15) & 0xefc60000u;
  return w ^ (w >> 18);
}

static D unit(Generator& g) {
  const I high = (I)(word(g) >> 5), low = (I)(word(g) >> 6);
  return (__builtin_convertvector(high, D) * 67108864.0 + __builtin_convertvector(low, D)) *
         (1.0 / 9007199254740992.0);
}

static F narrow(D d) { return __builtin_convertvector(d, F); }

static F root(F v) {
  for (int l = 0; l < L; l++) v[l] = std::sqrt(v[l]);
  return v;
}

static Generator generators[kTiles];
static D doubles[2 * kBatch];
static F weights[kTiles][kRanges][2], first[kTiles][kRanges][2], second[kTiles][kRanges][2];

static void step(F& weight, F& m, F& v, F g, float rate, float correction) {
  m = m * 0.9f + g * 0.1f;
  v = v * 0.999f + g * g * 0.001f;
  const F moved = weight - rate * (m / (root(v) / correction + 1e-8f)), one = F{} + 1;
  const F above = moved < 0 ? F{} : moved;
  weight = above > 1 ? one : above;
}

static void train(int tile, int range, float rate, float correction) {
  const double low = kLow[range], width = kHigh[range] - low;
  F* w = weights[tile][range];
  const F w0 = w[0], w1 = w[1], o0 = 1 - w0, o1 = 1 - w1;
  F g0[4] = {}, g1[4] = {};
  for (int b = 0; b < kBatch; b += 4)
    for (int j = 0; j < 4; j++) {
      const D a = low + width * doubles[2 * (b + j)], e = low + width * doubles[2 * (b + j) + 1];
      const F t = narrow(a * e), x = narrow(a), y = narrow(e);
      const F p = w0 * x + o0, q = w1 * y + o1, g = (p * q - t) * (2.0f / kBatch);
      const F gp = g * q, gq = g * p;
      g0[j] += gp * x - gp;
      g1[j] += gq * y - gq;
    }
  const F g[2] = {(g0[0] + g0[1]) + (g0[2] + g0[3]), (g1[0] + g1[1]) + (g1[2] + g1[3])};
  for (int k = 0; k < 2; k++)
    step(w[k], first[tile][range][k], second[tile][range][k], g[k], rate, correction);
}

int main(int count, char** words) {
  const int iterations = count > 1 ? atoi(words[1]) : 2000;
  for (int s = 0; s < kTiles; s++)
    for (int l = 0; l < L; l++) {
      uint32_t x = s * L + l;
      for (int k = 0; k < 624; k++) {
        generators[s].key[k][l] = x;
        x = 1812433253u * (x ^ (x >> 30)) + k + 1;
      }
      for (int r = 0; r < kRanges; r++)
        for (int k = 0; k < 2; k++)
          weights[s][r][k][l] = 0.25f + 0.5f * ((s * 31 + r * 7 + l * 3 + k * 13) % 17) / 17;
    }
  double power1 = 1, power2 = 1;
  const clock_t began = clock();
  for (int i = 0; i < iterations; i++) {
    power1 *= 0.9;
    power2 *= 0.999;
    const float rate = 0.001 / (1 - power1), correction = std::sqrt(1 - power2);
    for (int s = 0; s < kTiles; s++) {
      for (int k = 0; k < 2 * kBatch; k++) doubles[k] = unit(generators[s]);
      for (int r = 0; r < kRanges; r++) train(s, r, rate, correction);
    }
  }
  const double took = (double)(clock() - began) / CLOCKS_PER_SEC;
  double sum = 0;
  for (int l = 0; l < L; l++) sum += weights[0][0][0][l];
  printf("%.6g %.6g\n", took * 1e6 / iterations / (kSeeds * kRanges), sum);
}
