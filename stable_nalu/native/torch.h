// Tensors and operations of torch, by its C interface: no headers of torch are read.
#pragma once

#include <cstdint>
#include <stdexcept>

typedef void* Handle;
typedef void (*Kernel)(uint64_t*, uint64_t, uint64_t);

// Functions of torch's library, in the order in which __init__.py hands them over.
struct Torch {
  int32_t (*data)(Handle, void**);
  int32_t (*dims)(Handle, int64_t*);
  int32_t (*sizes)(Handle, int64_t**);
  int32_t (*strides)(Handle, int64_t**);
  int32_t (*type)(Handle, int32_t*);
  int32_t (*empty)(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, Handle*);
  int32_t (*around)(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t,
                    int32_t, Handle*);
  int32_t (*viewed)(Handle, int64_t, const int64_t*, const int64_t*, int64_t, Handle*);
  int32_t (*copy)(Handle, Handle, int32_t);
  int32_t (*release)(Handle);
  int32_t (*call)(const char*, const char*, uint64_t*);
  int32_t (*single)();
  int32_t (*library)(const char*, const char*, const char*, uint32_t, Handle*);
  int32_t (*implement)(Handle, const char*, Kernel);
};

// Filled when operations are registered.
extern Torch torch;

constexpr int64_t kMostDims = 8;
constexpr int32_t kProcessor = 0;

inline void check(int32_t error) {
  if (error) throw std::runtime_error("an operation of torch failed");
}

struct Layout {
  int64_t dims = 0, sizes[kMostDims], strides[kMostDims];

  // Sizes that follow one another, row after row.
  void add(int64_t size) { sizes[dims++] = size; }
  void by_rows() {
    int64_t stride = 1;
    for (int64_t d = dims - 1; d >= 0; d--) {
      strides[d] = stride;
      stride *= sizes[d];
    }
  }
};

// A tensor that is given back when it goes out of scope.
class Tensor {
 public:
  explicit Tensor(uint64_t value) : handle_(reinterpret_cast<Handle>(value)) {}
  Tensor(const Layout& layout, int32_t type) {
    check(torch.empty(layout.dims, layout.sizes, layout.strides, type, kProcessor, -1, &handle_));
  }
  explicit Tensor(const Layout& layout) : Tensor(layout, torch.single()) {}
  Tensor(float* numbers, int64_t count) {
    const int64_t one = 1;
    check(torch.around(numbers, 1, &count, &one, 0, torch.single(), kProcessor, -1, &handle_));
  }
  Tensor(const Tensor&) = delete;
  Tensor(Tensor&& other) : handle_(other.handle_) { other.handle_ = nullptr; }
  ~Tensor() {
    if (handle_) torch.release(handle_);
  }

  template <class Number = float>
  Number* numbers() const {
    void* data;
    check(torch.data(handle_, &data));
    return static_cast<Number*>(data);
  }
  int32_t type() const {
    int32_t type;
    check(torch.type(handle_, &type));
    return type;
  }
  int64_t dims() const {
    int64_t dims;
    check(torch.dims(handle_, &dims));
    return dims;
  }
  int64_t size(int64_t dim) const {
    int64_t* sizes;
    check(torch.sizes(handle_, &sizes));
    return sizes[dim];
  }
  int64_t stride(int64_t dim) const {
    int64_t* strides;
    check(torch.strides(handle_, &strides));
    return strides[dim];
  }

  uint64_t given_away() {
    const uint64_t value = reinterpret_cast<uint64_t>(handle_);
    handle_ = nullptr;
    return value;
  }

  // The same numbers in other sizes and strides.
  Tensor viewed(const Layout& layout) const {
    Handle view;
    check(torch.viewed(handle_, layout.dims, layout.sizes, layout.strides, 0, &view));
    return Tensor(reinterpret_cast<uint64_t>(view));
  }

  // The same numbers one after another, as plain training has them.
  Tensor laid_out() {
    Layout layout;
    const int64_t count = dims();
    for (int64_t d = 0; d < count; d++) layout.add(size(d));
    layout.by_rows();
    bool lies = true;
    for (int64_t d = 0; d < count; d++)
      lies &= layout.sizes[d] == 1 || stride(d) == layout.strides[d];
    if (lies) return Tensor(given_away());
    Tensor copy(layout, type());
    check(torch.copy(copy.handle_, handle_, 0));
    return copy;
  }

 private:
  Handle handle_ = nullptr;
};
