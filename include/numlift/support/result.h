// Result<T, E>: an expected failure as a value (a graph break, an unsupported op, a guard miss).
// Never used for bugs (InternalError) nor for Python errors (py/py_error.h).
#pragma once

#include <utility>
#include <variant>

#include "numlift/support/check.h"

namespace numlift {

template <class E>
struct Failure {
  E error;
};
template <class E>
Failure(E) -> Failure<E>;

template <class T, class E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure<E> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() {
    NUMLIFT_CHECK(state_.index() == 0, "value of a failed Result");
    return std::get<0>(state_);
  }
  const T& operator*() const {
    NUMLIFT_CHECK(state_.index() == 0, "value of a failed Result");
    return std::get<0>(state_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  E& error() { return std::get<1>(state_); }
  const E& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, E> state_;
};

}  // namespace numlift
