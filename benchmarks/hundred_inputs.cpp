// A hand-written loop: a NAU from 100 inputs to two sums and an NMU of these, batches of 128, Adam,
// constraints; one run in each lane, PAIRS models of each of SEEDS seeds on the same samples. Prints
// the CPU time in microseconds of a run and iteration, and a sum of weights.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#ifndef PAIRS
#define PAIRS 11
#endif
#ifndef SEEDS
#define SEEDS 20
#endif
#ifdef __AVX512F__
constexpr int L = 16;
#else
constexpr int L = 8;
#endif
typedef float F __attribute__((vector_size(L * 4)));
typedef uint32_t U __attribute__((vector_size(L * 4)));
typedef int32_t I __attribute__((vector_size(L * 4)));
typedef double D __attribute__((vector_size(L * 8)));

constexpr int kBatch = 128, kInputs = 100, kTiles = (SEEDS + L - 1) / L;
constexpr int kBlock = 4;  // Samples that stay in the nearest cache.

struct Generator {
  U key[624];
  int at = 624;
};

static U twisted(U first, U second, U far) {
  const U joined = (first & 0x80000000u) | (second & 0x7fffffffu);
  return far ^ (joined >> 1) ^ ((U)(-(I)(second & 1u)) & 0x9908b0dfu);
}

static inline U word(Generator& g) {
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

static inline D unit(Generator& g) {
  const I high = (I)(word(g) >> 5), low = (I)(word(g) >> 6);
  return (__builtin_convertvector(high, D) * 67108864.0 + __builtin_convertvector(low, D)) *
         (1.0 / 9007199254740992.0);
}

static inline F root(F v) {
  for (int l = 0; l < L; l++) v[l] = std::sqrt(v[l]);
  return v;
}

constexpr int kWeights = 2 * kInputs + 2;  // Those of the sums, then those of the product.
struct Model {
  F w[kWeights], g[kWeights], m[kWeights], v[kWeights];
};

static Generator generators[kTiles];
static Model models[kTiles][PAIRS];
static F x[kBlock * kInputs], t[kBlock];

static void draw(Generator& g) {
  for (int b = 0; b < kBlock; b++) {
    D one = {}, other = {};
    for (int k = 0; k < kInputs; k++) {
      const D d = 1.0 + unit(g);
      x[b * kInputs + k] = __builtin_convertvector(d, F);
      if (k < 25) one += d;
      if (k >= 12 && k < 37) other += d;
    }
    t[b] = __builtin_convertvector(one * other, F);
  }
}

static void block(Model& model) {
  const F *w = model.w, v0 = w[2 * kInputs], v1 = w[2 * kInputs + 1], o0 = 1 - v0, o1 = 1 - v1;
  F *g = model.g, g0 = g[2 * kInputs], g1 = g[2 * kInputs + 1], sums[kBlock][2] = {};
  for (int k = 0; k < kInputs; k++)
    for (int j = 0; j < kBlock; j++) {
      const F e = x[j * kInputs + k];
      sums[j][0] += e * w[k];
      sums[j][1] += e * w[kInputs + k];
    }
  F back[kBlock][2];
  for (int j = 0; j < kBlock; j++) {
    const F h0 = sums[j][0], h1 = sums[j][1], p = v0 * h0 + o0, q = v1 * h1 + o1;
    const F e = (p * q - t[j]) * (2.0f / kBatch), gp = e * q, gq = e * p;
    g0 += gp * h0 - gp;
    g1 += gq * h1 - gq;
    back[j][0] = gp * v0;
    back[j][1] = gq * v1;
  }
  g[2 * kInputs] = g0;
  g[2 * kInputs + 1] = g1;
  for (int k = 0; k < kInputs; k++) {
    F a = g[k], c = g[kInputs + k];
    for (int j = 0; j < kBlock; j++) {
      const F e = x[j * kInputs + k];
      a += e * back[j][0];
      c += e * back[j][1];
    }
    g[k] = a;
    g[kInputs + k] = c;
  }
}

static void update(Model& model, float rate, float correction) {
  const F one = F{} + 1;
  for (int k = 0; k < kWeights; k++) {
    const F g = model.g[k];
    F &m = model.m[k], &v = model.v[k];
    m = m * 0.9f + g * 0.1f;
    v = v * 0.999f + g * g * 0.001f;
    const F moved = model.w[k] - rate * (m / (root(v) / correction + 1e-8f));
    const F above = moved < -one ? -one : moved;
    model.w[k] = above > one ? one : above;
    model.g[k] = F{};
  }
}

int main(int count, char** words) {
  const int iterations = count > 1 ? atoi(words[1]) : 100;
  for (int s = 0; s < kTiles; s++)
    for (int l = 0; l < L; l++) {
      uint32_t seed = s * L + l;
      for (int k = 0; k < 624; k++) {
        generators[s].key[k][l] = seed;
        seed = 1812433253u * (seed ^ (seed >> 30)) + k + 1;
      }
      for (int m = 0; m < PAIRS; m++)
        for (int k = 0; k < kWeights; k++)
          models[s][m].w[k][l] =
              k < 2 * kInputs ? ((s * 31 + m * 7 + l * 3 + k * 13) % 17) / 17.0f - 0.5f : 0.5f;
    }
  double power1 = 1, power2 = 1;
  const clock_t began = clock();
  for (int i = 0; i < iterations; i++) {
    power1 *= 0.9;
    power2 *= 0.999;
    const float rate = 0.001 / (1 - power1), correction = std::sqrt(1 - power2);
    for (int s = 0; s < kTiles; s++) {
      for (int b = 0; b < kBatch; b += kBlock) {
        draw(generators[s]);
        for (int m = 0; m < PAIRS; m++) block(models[s][m]);
      }
      for (int m = 0; m < PAIRS; m++) update(models[s][m], rate, correction);
    }
  }
  const double took = (double)(clock() - began) / CLOCKS_PER_SEC;
  double sum = 0;
  for (int l = 0; l < L; l++) sum += models[0][0].w[0][l];
  printf("%.6g %.6g\n", took * 1e6 / iterations / (PAIRS * SEEDS), sum);
}
