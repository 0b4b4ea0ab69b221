// The arrays of the graph evaluator: strided elements over memory of their own or the caller's.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "numlift/graph/scalar.h"

namespace numlift::testing {

// An array over owned or borrowed memory. Copies of it are views of the same memory.
struct EvalArray {
  DType dtype = DType::kFloat64;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;              // bytes
  char* origin = nullptr;                    // element (0, 0, ...)
  std::shared_ptr<std::vector<char>> owned;  // null when the memory is the caller's

  int64_t size() const {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    return count;
  }
  char* address(std::span<const int64_t> index) const {
    char* at = origin;
    for (size_t i = 0; i < strides.size(); ++i) at += index[i] * strides[i];
    return at;
  }
  ScalarBits load(std::span<const int64_t> index) const {
    ScalarBits value;
    value.dtype = dtype;
    std::memcpy(value.bytes.data(), address(index), static_cast<size_t>(item_size(dtype)));
    return value;
  }
  void store(std::span<const int64_t> index, const ScalarBits& value) const {
    std::memcpy(address(index), value.bytes.data(), static_cast<size_t>(item_size(dtype)));
  }
  template <class T>
  T get(std::vector<int64_t> index) const {
    return scalar_value<T>(load(index));
  }
  template <class T>
  void set(std::vector<int64_t> index, T value) const {
    store(index, make_scalar(dtype, value));
  }
};

// Over the caller's memory.
inline EvalArray wrap_eval_array(DType dtype, std::vector<int64_t> dims,
                                 std::vector<int64_t> strides, void* origin) {
  return EvalArray{dtype, std::move(dims), std::move(strides), static_cast<char*>(origin), nullptr};
}

// C contiguous, zeroed.
inline EvalArray make_eval_array(DType dtype, std::vector<int64_t> dims) {
  EvalArray array;
  array.dtype = dtype;
  array.dims = std::move(dims);
  array.strides.resize(array.dims.size());
  int64_t stride = item_size(dtype);
  for (size_t i = array.dims.size(); i-- > 0;) {
    array.strides[i] = stride;
    stride *= array.dims[i];
  }
  array.owned = std::make_shared<std::vector<char>>(static_cast<size_t>(stride), '\0');
  array.origin = array.owned->data();
  return array;
}

inline EvalArray make_eval_scalar(const ScalarBits& value) {
  EvalArray array = make_eval_array(value.dtype, {});
  array.store({}, value);
  return array;
}

// All indices of an array in C order.
template <class Visit>
void for_each_index(std::span<const int64_t> dims, Visit visit) {
  for (int64_t dim : dims) {
    if (dim == 0) return;
  }
  std::vector<int64_t> index(dims.size(), 0);
  for (;;) {
    visit(std::span<const int64_t>(index));
    size_t axis = dims.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace numlift::testing
