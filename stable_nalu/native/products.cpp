// Products of the matrices of many runs, in the order in which MKL sums when it is not to choose one
// by the processor (MKL_CBWR=COMPATIBLE). MKL then uses vectors of four numbers; these have sixteen
// or eight, and took half to three quarters of the time on an AMD EPYC with AVX-512. Each product is
// rounded, then each sum: -ffp-contract=off keeps the compiler from rounding both at once.
//
// Of eight rows or more, all but the last one to three: inputs are cut into blocks of 112, each of
// which is summed from zero, one input after another. Sums of blocks are added to the bias, if there
// is one, that of the last and shortest block first, then in turn. Other rows are summed over all
// inputs, starting from the bias. But if the inputs of each output adjoin in memory, they are four
// sums over every fourth input, and the bias comes last; rows of two to seven start with input 0,
// and all others with input 1 after the first one has begun the first sum.
// Inputs are eight at least, and outputs a multiple of eight: for others there are further orders.

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace {

// As many rows at once as there are registers for.
#ifdef __AVX512F__
constexpr int64_t kLanes = 16, kTileRows = 8;
#else
constexpr int64_t kLanes = 8, kTileRows = 6;
#endif
constexpr int64_t kBlock = 112, kPanel = 2 * kLanes, kSums = 4;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef float Eight __attribute__((vector_size(8 * sizeof(float))));

template <class Vector>
inline Vector vector_at(const float* numbers) {
  Vector vector;
  __builtin_memcpy(&vector, numbers, sizeof vector);
  return vector;
}

// A matrix and its strides in numbers, from row to row and from column to column.
struct Matrix {
  const float* at;
  int64_t row, column;

  const float* operator()(int64_t r, int64_t c) const { return at + r * row + c * column; }
};

// Some outputs of all rows: the weights of these, laid side by side, and where results go.
struct Panel {
  const float* weights;
  float* y;
  int64_t row, outputs;
};

// Reads and writes no more than the outputs that there are.
template <int64_t vectors>
void store(const Lanes* sums, float* y, int64_t outputs) {
  if (outputs == vectors * kLanes)
    __builtin_memcpy(y, sums, vectors * sizeof(Lanes));
  else
    __builtin_memcpy(y, sums, outputs * sizeof(float));
}

template <int64_t vectors>
void read(Lanes* sums, const float* y, int64_t outputs) {
  if (outputs == vectors * kLanes)
    __builtin_memcpy(sums, y, vectors * sizeof(Lanes));
  else
    __builtin_memcpy(sums, y, outputs * sizeof(float));
}

// What becomes of what y was.
enum Before { kForgotten, kAdded, kBegins };

// Sums of some rows over inputs, one after another.
template <int64_t rows, int64_t vectors>
void add_up(Matrix x, int64_t inputs, Panel panel, Before before) {
  Lanes sums[rows][vectors] = {};
  if (before == kBegins)
    for (int64_t b = 0; b < rows; b++)
      read<vectors>(sums[b], panel.y + b * panel.row, panel.outputs);
  for (int64_t k = 0; k < inputs; k++) {
    Lanes w[vectors];
    for (int64_t v = 0; v < vectors; v++)
      w[v] = vector_at<Lanes>(panel.weights + k * kPanel + v * kLanes);
    for (int64_t b = 0; b < rows; b++) {
      const float number = *x(b, k);
      for (int64_t v = 0; v < vectors; v++) sums[b][v] += w[v] * number;
    }
  }
  for (int64_t b = 0; b < rows; b++) {
    float* y = panel.y + b * panel.row;
    if (before == kAdded) {
      Lanes was[vectors] = {};
      read<vectors>(was, y, panel.outputs);
      for (int64_t v = 0; v < vectors; v++) sums[b][v] += was[v];
    }
    store<vectors>(sums[b], y, panel.outputs);
  }
}

// Sums of a row over every fourth input, after `first` of them.
template <int64_t vectors>
void add_up_by_fours(Matrix x, int64_t inputs, Panel panel, int64_t first, Before before) {
  Lanes sums[kSums][vectors] = {};
  const auto add = [&](Lanes* sum, int64_t k) {
    for (int64_t v = 0; v < vectors; v++)
      sum[v] += vector_at<Lanes>(panel.weights + k * kPanel + v * kLanes) * *x(0, k);
  };
  if (first) add(sums[0], 0);
  const int64_t whole = first + (inputs - first) / kSums * kSums;
  for (int64_t k = first; k < whole; k += kSums)
    for (int64_t s = 0; s < kSums; s++) add(sums[s], k + s);
  for (int64_t v = 0; v < vectors; v++)
    sums[0][v] = (sums[0][v] + sums[2][v]) + (sums[1][v] + sums[3][v]);
  for (int64_t k = whole; k < inputs; k++) add(sums[0], k);
  if (before == kBegins) {
    Lanes was[vectors] = {};
    read<vectors>(was, panel.y, panel.outputs);
    for (int64_t v = 0; v < vectors; v++) sums[0][v] += was[v];
  }
  store<vectors>(sums[0], panel.y, panel.outputs);
}

template <int64_t rows, int64_t vectors>
void add_up_rest(int64_t count, Matrix x, int64_t inputs, Panel panel, Before before) {
  if constexpr (rows > 0) {
    if (count == rows)
      add_up<rows, vectors>(x, inputs, panel, before);
    else
      add_up_rest<rows - 1, vectors>(count, x, inputs, panel, before);
  }
}

template <int64_t vectors>
void add_up_rows(Matrix x, int64_t rows, int64_t inputs, Panel panel, Before before) {
  for (; rows >= kTileRows; rows -= kTileRows) {
    add_up<kTileRows, vectors>(x, inputs, panel, before);
    x.at += kTileRows * x.row;
    panel.y += kTileRows * panel.row;
  }
  add_up_rest<kTileRows - 1, vectors>(rows, x, inputs, panel, before);
}

// Some outputs of one product; `biased`: y is the bias so far.
template <int64_t vectors>
void multiply_panel(Matrix x, int64_t rows, int64_t inputs, Panel panel, bool biased,
                    bool inputs_adjoin) {
  const int64_t whole = rows < 8 ? 0 : rows / 4 * 4, blocks = (inputs + kBlock - 1) / kBlock;
  for (int64_t part = 0; whole && part < blocks; part++) {
    const int64_t from = (part ? part - 1 : blocks - 1) * kBlock;
    const int64_t length = inputs - from < kBlock ? inputs - from : kBlock;
    const Panel own{panel.weights + from * kPanel, panel.y, panel.row, panel.outputs};
    add_up_rows<vectors>({x(0, from), x.row, x.column}, whole, length, own,
                         biased || part ? kAdded : kForgotten);
  }
  const Before before = biased ? kBegins : kForgotten;
  x.at += whole * x.row;
  panel.y += whole * panel.row;
  if (!inputs_adjoin) return add_up_rows<vectors>(x, rows - whole, inputs, panel, before);
  const int64_t first = rows == 1 || whole;
  for (int64_t b = whole; b < rows; b++, x.at += x.row, panel.y += panel.row)
    add_up_by_fours<vectors>(x, inputs, panel, first, before);
}

// Turns eight rows of eight into rows of a panel: three times, the first half and the second one
// are interleaved.
void turn_eight(const float* from, int64_t row, float* to) {
  Eight v[8], w[8];
  for (int k = 0; k < 8; k++) v[k] = vector_at<Eight>(from + k * row);
  for (int step = 0; step < 3; step++) {
    for (int k = 0; k < 4; k++) {
      w[2 * k] = __builtin_shufflevector(v[k], v[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      w[2 * k + 1] = __builtin_shufflevector(v[k], v[k + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int k = 0; k < 8; k++) v[k] = w[k];
  }
  for (int k = 0; k < 8; k++) __builtin_memcpy(to + k * kPanel, v + k, sizeof(Eight));
}

// Lays the weights (inputs, outputs) of a panel side by side, with zeros behind them.
void lay(Matrix w, int64_t inputs, int64_t outputs, float* panel) {
  if (outputs < kPanel) __builtin_memset(panel, 0, inputs * kPanel * sizeof(float));
  int64_t k = 0;
  if (w.row == 1)
    for (; k + 8 <= inputs; k += 8)
      for (int64_t o = 0; o < outputs; o += 8)
        turn_eight(w(k, o), w.column, panel + k * kPanel + o);
  for (; k < inputs; k++) {
    float* to = panel + k * kPanel;
    if (w.column == 1)
      __builtin_memcpy(to, w(k, 0), outputs * sizeof(float));
    else
      for (int64_t o = 0; o < outputs; o++) to[o] = *w(k, o);
  }
}

}  // namespace

// Whether vectors are wider than MKL's.
extern "C" int64_t multiplies_faster() {
#ifdef __AVX__
  return 1;
#else
  return 0;
#endif
}

// y (rows, outputs) = x (rows, inputs) w (inputs, outputs) of each run, plus what y is beforehand
// if `biased`. x and w have strides from run to run, row to row and column to column. Outputs are a
// multiple of eight.
extern "C" void multiply_matrices(const float* x, int64_t x_run, int64_t x_row, int64_t x_column,
                                  const float* w, int64_t w_run, int64_t w_row, int64_t w_column,
                                  int64_t runs, int64_t rows, int64_t inputs, int64_t outputs,
                                  int64_t biased, float* y) {
  const std::unique_ptr<float, decltype(&std::free)> weights(
      static_cast<float*>(std::aligned_alloc(64, inputs * kPanel * sizeof(float))), &std::free);
  for (int64_t r = 0; r < runs; r++) {
    const Matrix own{x + r * x_run, x_row, x_column}, all{w + r * w_run, w_row, w_column};
    for (int64_t o = 0; o < outputs; o += kPanel) {
      const int64_t count = outputs - o < kPanel ? outputs - o : kPanel;
      lay({all(0, o), w_row, w_column}, inputs, count, weights.get());
      const Panel panel{weights.get(), y + r * rows * outputs + o, outputs, count};
      const auto multiply = count > kLanes ? multiply_panel<2> : multiply_panel<1>;
      multiply(own, rows, inputs, panel, biased, w_row == 1 && w_column != 1);
    }
  }
}
