// Layers that ignore most of what they compute, and their gradients; see sparse_gradients.py.

#include <cstdint>
#include <cstring>
#include <vector>

// Images x (images, height, width, channels) and kernels of size x size. What is kept of their
// outputs are the maxima (images, rows / 2, columns / 2, kernels) above 0; `choices` says which of
// the four they are, row by row.
struct Pooled {
  int64_t images, height, width, channels, kernels, size;
  const float *x, *maxima;
  const int32_t* choices;
};

namespace {

constexpr int64_t kLanes = 16;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));
typedef int32_t Places __attribute__((vector_size(kLanes * sizeof(int32_t)), aligned(4)));

// Some vectors that lie side by side.
template <int64_t vectors>
struct Sum {
  Lanes part[vectors];

  static Sum of(const float* from) {
    Sum sum;
    for (int64_t v = 0; v < vectors; v++) sum.part[v] = *(const Lanes*)(from + v * kLanes);
    return sum;
  }
  void add(float times, const float* from) {
    for (int64_t v = 0; v < vectors; v++) part[v] += times * *(const Lanes*)(from + v * kLanes);
  }
  void write(float* to) const {
    for (int64_t v = 0; v < vectors; v++) *(Lanes*)(to + v * kLanes) = part[v];
  }
};

// Memory that begins where a vector does: one that lies across two lines of a cache takes twice the
// time to read. It is a little longer than asked for, as whole vectors are read and written.
struct Floats {
  std::vector<float> memory;
  float* data;
  explicit Floats(int64_t count) : memory(count + 2 * kLanes) {
    const auto beyond = reinterpret_cast<uintptr_t>(memory.data()) % sizeof(Lanes);
    data = memory.data() + (sizeof(Lanes) - beyond) % sizeof(Lanes) / sizeof(float);
  }
};

struct Shape {
  int64_t height, width, channels, kernels, size, rows, columns, half, windows, pixels;
  explicit Shape(const Pooled& p)
      : height(p.height), width(p.width), channels(p.channels), kernels(p.kernels), size(p.size),
        rows(p.height - p.size + 1), columns(p.width - p.size + 1), half(columns / 2),
        windows(rows / 2 * half), pixels(height * width * channels) {}
  // The first output of a window, or one of its four.
  int64_t row(int64_t window, int64_t choice = 0) const { return window / half * 2 + choice / 2; }
  int64_t column(int64_t window, int64_t choice = 0) const {
    return window % half * 2 + choice % 2;
  }
};

// The largest of four, the first of equal ones; what is not a number is, as in torch, larger.
template <class Read>
void keep_largest(Read read, Lanes& largest, Places& choice) {
  largest = read(0);
  choice = Places{};
  for (int32_t k = 1; k < 4; k++) {
    const Lanes other = read(k);
    const Places larger = (other > largest) | (other != other);
    largest = larger ? other : largest;
    choice = larger ? Places{} + k : choice;
  }
  largest = largest <= 0 ? Lanes{} : largest;
}

// Kernels of one channel, (size, size, padded), with biases before them, and their largest outputs.
template <int64_t vectors>
void convolve(const Pooled& p, const float* weights, float* maxima, int32_t* choices) {
  const Shape s(p);
  const int64_t padded = vectors * kLanes;
  float found[padded];
  int32_t chosen[padded];
  for (int64_t n = 0; n < p.images; n++)
    for (int64_t window = 0; window < s.windows; window++) {
      const float* corner = p.x + n * s.pixels + s.row(window) * s.width + s.column(window);
      Sum<vectors> sums[4];
      for (auto& sum : sums) sum = Sum<vectors>::of(weights);
      const float* tap = weights + padded;
      for (int64_t row = 0; row < s.size; row++)
        for (int64_t column = 0; column < s.size; column++, tap += padded) {
          const float* seen = corner + row * s.width + column;
          for (int64_t k = 0; k < 4; k++) sums[k].add(seen[k / 2 * s.width + k % 2], tap);
        }
      for (int64_t v = 0; v < vectors; v++)
        keep_largest([&](int64_t k) { return sums[k].part[v]; }, *(Lanes*)(found + v * kLanes),
                     *(Places*)(chosen + v * kLanes));
      const int64_t slot = (n * s.windows + window) * s.kernels;
      std::memcpy(maxima + slot, found, s.kernels * sizeof(float));
      std::memcpy(choices + slot, chosen, s.kernels * sizeof(int32_t));
    }
}

// The number, or 0, without a branch: which of them it is no processor could predict.
inline float where(bool kept, float number) {
  int32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  bits &= -static_cast<int32_t>(kept);
  std::memcpy(&number, &bits, sizeof bits);
  return number;
}

// Something to be added, as many times as its slope: a row of a kernel, or of an image.
struct Term {
  int32_t place;
  float slope;
};

// Lists of terms, each of which has room for as many as there can be, and one more.
struct Lists {
  int64_t room;
  std::vector<Term> terms;
  std::vector<int32_t> counts;

  Lists(int64_t lists, int64_t most) : room(most + 1), terms(lists * room), counts(lists) {}
  void clear() { std::memset(counts.data(), 0, counts.size() * sizeof(int32_t)); }
  // Without a branch, too: what is not kept is written over.
  void add(int64_t list, int64_t place, float slope, bool kept) {
    terms[list * room + counts[list]] = {static_cast<int32_t>(place), slope};
    counts[list] += kept;
  }
};

// The gradient of an image: rows of kernels, laid where their largest outputs are.
// Each of the four outputs of a window has a list of kernels.
template <int64_t vectors>
void spread(const Shape& s, const Lists& lists, const float* weights, float* image) {
  const int64_t padded = vectors * kLanes;
  std::memset(image, 0, s.pixels * sizeof(float));
  for (int64_t row = 0; row < s.size; row++) {
    const float* of_row = weights + row * s.kernels * padded;
    for (int64_t list = 0; list < 4 * s.windows; list++) {
      const int64_t top = s.row(list / 4, list % 4), left = s.column(list / 4, list % 4);
      float* to = image + ((top + row) * s.width + left) * s.channels;
      auto sum = Sum<vectors>::of(to);
      const Term* terms = lists.terms.data() + list * lists.room;
      for (int64_t k = 0; k < lists.counts[list]; k++)
        sum.add(terms[k].slope, of_row + terms[k].place * padded);
      sum.write(to);
    }
  }
}

// Adds rows of an image to the gradients of kernels, each of which has a list of places in it.
template <int64_t vectors>
void gather(const Lists& lists, int64_t kernels, int64_t rows, const float* image, int64_t stride,
            float* of_weights) {
  for (int64_t kernel = 0; kernel < kernels; kernel++) {
    const Term* terms = lists.terms.data() + kernel * lists.room;
    for (int64_t row = 0; row < rows; row++) {
      float* to = of_weights + (kernel * rows + row) * vectors * kLanes;
      auto sum = Sum<vectors>::of(to);
      for (int64_t k = 0; k < lists.counts[kernel]; k++)
        sum.add(terms[k].slope, image + terms[k].place + row * stride);
      sum.write(to);
    }
  }
}

// What each output of one channel sees, side by side. Whole vectors are copied; what is too much is
// written over by what comes next.
void see(const Shape& s, int64_t padded, const float* image, float* seen) {
  for (int64_t row = 0; row < s.rows; row++)
    for (int64_t column = 0; column < s.columns; column++, seen += padded)
      for (int64_t k = 0; k < s.size; k++)
        *(Lanes*)(seen + k * s.size) = *(const Lanes*)(image + (row + k) * s.width + column);
}

template <int64_t vectors>
void go_back(const Pooled& p, const float* gradient, const float* weights, float* of_x,
             float* of_weights, float* of_bias) {
  const Shape s(p);
  const int64_t padded = vectors * kLanes;
  const bool one = s.channels == 1;
  Lists of_kernels(s.kernels, s.windows), of_outputs(4 * s.windows, s.kernels);
  Floats image(s.pixels), of_image(s.pixels), seen(one ? s.rows * s.columns * padded : 0);
  for (int64_t n = 0; n < p.images; n++) {
    std::memcpy(image.data, p.x + n * s.pixels, s.pixels * sizeof(float));
    if (one) see(s, padded, image.data, seen.data);
    of_kernels.clear();
    for (int64_t window = 0; window < s.windows; window++) {
      int64_t places[4];
      for (int64_t k = 0; k < 4; k++)
        places[k] = one ? (s.row(window, k) * s.columns + s.column(window, k)) * padded
                        : (s.row(window, k) * s.width + s.column(window, k)) * s.channels;
      const int64_t first = (n * s.windows + window) * s.kernels;
      // Four counts of 16 bits in a register: in memory, each would wait for the one before it.
      uint64_t counts = 0;
      Term* of_window = of_outputs.terms.data() + 4 * window * of_outputs.room;
      for (int64_t kernel = 0; kernel < s.kernels; kernel++) {
        const int32_t choice = p.choices[first + kernel], bits = 16 * choice;
        const float slope = gradient[first + kernel];
        const bool kept = !(p.maxima[first + kernel] <= 0) & (slope != 0);
        of_kernels.add(kernel, places[choice], slope, kept);
        of_window[choice * of_outputs.room + (counts >> bits & 0xffff)] = {
            static_cast<int32_t>(kernel), slope};
        counts += static_cast<uint64_t>(kept) << bits;
        of_bias[kernel] += where(kept, slope);
      }
      for (int64_t k = 0; k < 4; k++) of_outputs.counts[4 * window + k] = counts >> 16 * k & 0xffff;
    }
    gather<vectors>(of_kernels, s.kernels, one ? 1 : s.size, one ? seen.data : image.data,
                    s.width * s.channels, of_weights);
    if (!of_x) continue;
    spread<vectors>(s, of_outputs, weights, of_image.data);
    std::memcpy(of_x + n * s.pixels, of_image.data, s.pixels * sizeof(float));
  }
}

}  // namespace

// The largest of each 2 x 2 outputs (images, rows, columns, kernels), unless they are below 0.
extern "C" void keep_maxima(const Pooled* p, const float* outputs, float* maxima,
                            int32_t* choices) {
  const Shape s(*p);
  const int64_t across = s.kernels, down = s.columns * s.kernels;
  for (int64_t n = 0, slot = 0; n < p->images; n++)
    for (int64_t window = 0; window < s.windows; window++) {
      const float* from =
          outputs + (n * s.rows + s.row(window)) * down + s.column(window) * across;
      // The last vector overlaps the one before it.
      for (int64_t k = 0; k < s.kernels; k += kLanes) {
        const int64_t first = k + kLanes <= s.kernels ? k : s.kernels - kLanes;
        keep_largest(
            [&](int64_t j) {
              return *(const Lanes*)(from + j / 2 * down + j % 2 * across + first);
            },
            *(Lanes*)(maxima + slot + first), *(Places*)(choices + slot + first));
      }
      slot += s.kernels;
    }
}

// The same of images of one channel, by weights (1 + size * size, padded): biases, then kernels.
extern "C" void convolve_one_channel(const Pooled* p, const float* weights, float* maxima,
                                     int32_t* choices) {
  switch ((p->kernels + kLanes - 1) / kLanes) {
    case 1: return convolve<1>(*p, weights, maxima, choices);
    case 2: return convolve<2>(*p, weights, maxima, choices);
    case 3: return convolve<3>(*p, weights, maxima, choices);
    case 4: return convolve<4>(*p, weights, maxima, choices);
  }
}

// Gradients by that of the maxima: of images, unless `of_x` is null, by weights
// (size, kernels, padded), whose last dimension are rows of kernels; and, added to what is there, of
// weights (kernels, size, padded), or (kernels, padded) of one channel, and biases.
extern "C" void pooled_gradients(const Pooled* p, const float* gradient, const float* weights,
                                 float* of_x, float* of_weights, float* of_bias) {
  const int64_t numbers = p->size * (p->channels == 1 ? p->size : p->channels);
  switch ((numbers + kLanes - 1) / kLanes) {
    case 1: return go_back<1>(*p, gradient, weights, of_x, of_weights, of_bias);
    case 2: return go_back<2>(*p, gradient, weights, of_x, of_weights, of_bias);
    case 3: return go_back<3>(*p, gradient, weights, of_x, of_weights, of_bias);
    case 4: return go_back<4>(*p, gradient, weights, of_x, of_weights, of_bias);
    case 5: return go_back<5>(*p, gradient, weights, of_x, of_weights, of_bias);
    case 6: return go_back<6>(*p, gradient, weights, of_x, of_weights, of_bias);
    case 7: return go_back<7>(*p, gradient, weights, of_x, of_weights, of_bias);
    case 8: return go_back<8>(*p, gradient, weights, of_x, of_weights, of_bias);
  }
}

namespace {

// Sums of rows, as each list says. Some columns at a time, of which all rows fit into a cache.
void sum_rows(const Lists& lists, const float* rows, int64_t columns, float* sums) {
  constexpr int64_t together = 8;
  const auto some = [&](auto sum, int64_t first) {
    for (size_t list = 0; list < lists.counts.size(); list++) {
      sum = {};
      const Term* terms = lists.terms.data() + list * lists.room;
      for (int64_t k = 0; k < lists.counts[list]; k++)
        sum.add(terms[k].slope, rows + terms[k].place * columns + first);
      sum.write(sums + list * columns + first);
    }
  };
  int64_t first = 0;
  for (; first + together * kLanes <= columns; first += together * kLanes)
    some(Sum<together>{}, first);
  for (; first < columns; first += kLanes) some(Sum<1>{}, first);
}

}  // namespace

// Gradients of y = relu(x weights^T + bias) by that of y (samples, outputs): of x
// (samples, inputs), weights (outputs, inputs) and, added to what is there, biases.
extern "C" void rectified_gradients(int64_t samples, int64_t inputs, int64_t outputs,
                                    const float* x, const float* weights, const float* y,
                                    const float* gradient, float* of_x, float* of_weights,
                                    float* of_bias) {
  Lists of_outputs(outputs, samples), of_samples(samples, outputs);
  for (int64_t n = 0, slot = 0; n < samples; n++)
    for (int64_t k = 0; k < outputs; k++, slot++) {
      const bool kept = !(y[slot] <= 0) & (gradient[slot] != 0);
      of_outputs.add(k, n, gradient[slot], kept);
      of_samples.add(n, k, gradient[slot], kept);
      of_bias[k] += where(kept, gradient[slot]);
    }
  sum_rows(of_outputs, x, inputs, of_weights);
  sum_rows(of_samples, weights, inputs, of_x);
}
