#include "symbolic/array_iterators.h"

#include <string_view>

#include "numlift/py/py_error.h"
#include "symbolic/builtins.h"
#include "symbolic/numpy_calls.h"
#include "symbolic/numpy_views.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

CallShape iterator_shape(Sym iterable, size_t position, const char* maker) {
  return {Ref::create(known_object("builtins", maker)),
          {std::move(iterable)},
          {},
          static_cast<int64_t>(position)};
}

CallShape placed_shape(Sym iterable, int64_t place, const char* maker) {
  CallShape shape = iterator_shape(std::move(iterable), 0, maker);
  if (place != 0 || maker == std::string_view("reversed")) shape.place = place;
  return shape;
}

namespace {

// reversed() of an array: its elements are read when their turn comes.
struct ReversedArrayIterator : IteratorValue {
  explicit ReversedArrayIterator(Sym array) : array(std::move(array)) {}
  Sym next(Tracer& tracer) override {
    if (left < 0) left = numpy_row_count(tracer, array);
    if (left == 0) return nullptr;
    ++given;
    return numpy_get_item(tracer, array, tracer.constant(checked(PyLong_FromLongLong(--left))));
  }
  std::optional<SizeExpr> items_left(Tracer& tracer) override {
    return tracer.simplify(as<ArrayValue>(array).type.dims[0]) - SizeExpr(given);
  }
  Sym item_ahead(Tracer& tracer, const SizeExpr& index) override {
    const SizeExpr last = tracer.simplify(as<ArrayValue>(array).type.dims[0]) - 1;
    return numpy_get_item(tracer, array, tracer.new_size(last - SizeExpr(given) - index));
  }
  std::optional<CallShape> shape() const override {
    return iterator_shape(array, static_cast<size_t>(given), "reversed");
  }
  Sym array;
  int64_t left = -1;  // not asked yet
  int64_t given = 0;
};

// Elements are read when their turn comes: the loop may have stored to the array.
struct ArrayIterator : IteratorValue {
  explicit ArrayIterator(Sym array) : array(std::move(array)) {}
  Sym next(Tracer& tracer) override {
    if (count < 0) count = numpy_row_count(tracer, array);
    if (position >= count) return nullptr;
    return numpy_get_item(tracer, array, tracer.constant(checked(PyLong_FromLongLong(position++))));
  }
  std::optional<SizeExpr> items_left(Tracer& tracer) override {
    if (array->kind != SymKind::kArray || as<ArrayValue>(array).type.rank() == 0)
      return std::nullopt;
    return tracer.simplify(as<ArrayValue>(array).type.dims[0]) - SizeExpr(position);
  }
  Sym item_ahead(Tracer& tracer, const SizeExpr& index) override {
    return numpy_get_item(tracer, array, tracer.new_size(index + SizeExpr(position)));
  }
  std::optional<CallShape> shape() const override { return placed_shape(array, position); }
  Sym array;
  int64_t count = -1;  // not asked yet
  int64_t position = 0;
};

}  // namespace

std::shared_ptr<IteratorValue> make_array_iterator(const Sym& array) {
  return std::make_shared<ArrayIterator>(array);
}
std::shared_ptr<IteratorValue> make_reversed_array_iterator(const Sym& array) {
  return std::make_shared<ReversedArrayIterator>(array);
}

}  // namespace numlift::frame_eval
