// Drawing samples as NumPy draws them, several times faster; see native.py.

#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("tree-loop-vectorize")
#endif

namespace {

// MT19937 (Matsumoto and Nishimura, 1998), in the memory of NumPy's generator.
constexpr int kWords = 624, kMiddle = 397;

struct State {
  uint32_t key[kWords];
  int position;
};

inline uint32_t twisted(uint32_t first, uint32_t second, uint32_t far) {
  const uint32_t joined = (first & 0x80000000u) | (second & 0x7fffffffu);
  return far ^ (joined >> 1) ^ (-(second & 1u) & 0x9908b0dfu);
}

void advance(uint32_t* key) {
  constexpr int wrap = kWords - kMiddle;
  for (int k = 0; k < wrap; k++) key[k] = twisted(key[k], key[k + 1], key[k + kMiddle]);
  for (int k = wrap; k < kWords - 1; k++) key[k] = twisted(key[k], key[k + 1], key[k - wrap]);
  key[kWords - 1] = twisted(key[kWords - 1], key[0], key[kMiddle - 1]);
}

inline uint32_t tempered(uint32_t word) {
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680u;
  word ^= (word << 15) & 0xefc60000u;
  return word ^ (word >> 18);
}

// The state advances when a word is missing, not when the last one is taken, as NumPy's does.
void draw(State* state, uint32_t* words, int64_t count) {
  for (int64_t drawn = 0; drawn < count;) {
    if (state->position == kWords) {
      advance(state->key);
      state->position = 0;
    }
    const int64_t left = kWords - state->position;
    const int64_t taken = left < count - drawn ? left : count - drawn;
    const uint32_t* from = state->key + state->position;
    for (int64_t k = 0; k < taken; k++) words[drawn + k] = tempered(from[k]);
    state->position += static_cast<int>(taken);
    drawn += taken;
  }
}

}  // namespace

// Uniform doubles in [0, 1), of two words each.
extern "C" void draw_doubles(State* state, double* doubles, int64_t count) {
  constexpr int64_t most = kWords / 2;
  uint32_t words[2 * most];
  for (int64_t first = 0; first < count; first += most) {
    const int64_t part = count - first < most ? count - first : most;
    draw(state, words, 2 * part);
    for (int64_t k = 0; k < part; k++) {
      const double high = static_cast<int32_t>(words[2 * k] >> 5);
      const double low = static_cast<int32_t>(words[2 * k + 1] >> 6);
      doubles[first + k] = (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
    }
  }
}
