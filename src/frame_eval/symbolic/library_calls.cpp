// The operator module, functools, itertools: what of them is written in C.
#include "symbolic/attributes.h"
#include "symbolic/builtins.h"
#include "symbolic/calls.h"
#include "symbolic/containers.h"
#include "symbolic/error_region_value.h"
#include "symbolic/errstate.h"
#include "symbolic/iterators.h"
#include "symbolic/operators.h"
#include "symbolic/partial.h"
#include "symbolic/pure.h"
#include "symbolic/sorting.h"
#include "symbolic/special_methods.h"

namespace numlift::frame_eval {

namespace {

template <int nb_op, bool in_place>
Sym operator_binary(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("an operator", arguments);
  read.expect(2, 2);
  return binary_operation(interpreter, nb_op, in_place, read[0], read[1]);
}

template <UnaryOp op>
Sym operator_unary(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("an operator", arguments);
  read.expect(1, 1);
  return unary_operation(interpreter, op, read[0]);
}

template <int compare>
Sym operator_compare(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("a comparison", arguments);
  read.expect(2, 2);
  return compare_operation(interpreter, compare, read[0], read[1]);
}

template <bool wanted>
Sym operator_truth(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("truth", arguments);
  read.expect(1, 1);
  return interpreter.boolean(truth(interpreter, read[0]) == wanted);
}

template <bool wanted>
Sym operator_is(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("is_", arguments);
  read.expect(2, 2);
  return interpreter.boolean(is_identical(interpreter, read[0], read[1]) == wanted);
}

Sym operator_contains(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("contains", arguments);
  read.expect(2, 2);
  return interpreter.boolean(contains(interpreter, read[0], read[1]));
}

Sym operator_getitem(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("getitem", arguments);
  read.expect(2, 2);
  return get_item(interpreter, read[0], read[1]);
}

Sym operator_setitem(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("setitem", arguments);
  read.expect(3, 3);
  set_item(interpreter, read[0], read[1], read[2]);
  return interpreter.none();
}

Sym operator_index(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("index", arguments);
  read.expect(1, 1);
  const Sym& value = read[0];
  if (value->kind == SymKind::kSize) return value;
  if (is_numpy_value(value)) return numpy_to_number(interpreter.tracer, &PyLong_Type, value);
  if (auto real = pure_constant(interpreter, value, "index()")) {
    return interpreter.tracer.constant(must(PyNumber_Index(real->get())));
  }
  if (Sym result = special_method(interpreter, value, "__index__", {})) return result;
  throw_break("unsupported_value", "index() of a " + type_name(value));
}

Sym functools_reduce(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("reduce", arguments);
  read.expect(2, 3);
  auto items = make_iterator(interpreter, read[1]);
  Sym total = read.count() == 3 ? read[2] : items->next(interpreter.tracer);
  if (!total) throw_break("would_raise", "reduce() of nothing");
  while (Sym item = items->next(interpreter.tracer)) {
    total = call_value(interpreter, read[0], {{total, item}, {}});
  }
  return total;
}

// All combinations are made now; the items are values of the trace already.
Sym itertools_product(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("product", arguments);
  Sym repeat = read.keyword("repeat");
  read.expect(0, SIZE_MAX);
  std::vector<std::vector<Sym>> pools;
  for (const Sym& argument : arguments.positional)
    pools.push_back(collect_items(interpreter, argument));
  const int64_t times = repeat ? concrete_int(interpreter, repeat, "product()") : 1;
  if (times < 0) throw_break("would_raise", "product() with a negative repeat");
  std::vector<std::vector<Sym>> rows{{}};
  for (int64_t round = 0; round < times; ++round) {
    for (const auto& pool : pools) {
      std::vector<std::vector<Sym>> longer;
      if (rows.size() * pool.size() > 100'000) throw_break("too_long", "a very long product()");
      for (const auto& row : rows) {
        for (const Sym& item : pool) {
          longer.push_back(row);
          longer.back().push_back(item);
        }
      }
      rows = std::move(longer);
    }
  }
  std::vector<Sym> tuples;
  for (auto& row : rows) tuples.push_back(make_tuple(std::move(row)));
  return make_iterator(interpreter, make_tuple(std::move(tuples)));
}

struct ChainIterator : IteratorValue {
  explicit ChainIterator(Interpreter& interpreter) : interpreter(interpreter) {}
  Sym next(Tracer& tracer) override {
    for (;;) {
      if (!current) {
        if (position == parts.size()) return nullptr;
        current = make_iterator(interpreter, parts[position++]);
      }
      if (Sym item = current->next(tracer)) return item;
      current = nullptr;
    }
  }
  Interpreter& interpreter;
  std::vector<Sym> parts;
  std::shared_ptr<IteratorValue> current;
  size_t position = 0;
};

Sym itertools_chain(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("chain", arguments);
  read.expect(0, SIZE_MAX);
  auto chain = std::make_shared<ChainIterator>(interpreter);
  chain->parts = arguments.positional;
  return chain;
}

struct RepeatIterator : IteratorValue {
  RepeatIterator(Sym value, int64_t left) : value(std::move(value)), left(left) {}
  Sym next(Tracer&) override { return left == 0 ? nullptr : (--left, value); }
  Sym value;
  int64_t left;  // negative: without end
};

Sym itertools_repeat(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("repeat", arguments);
  Sym times = read.keyword("times");
  read.expect(1, 2);
  if (read.count() == 2) times = read[1];
  const int64_t count =
      times ? std::max<int64_t>(0, concrete_int(interpreter, times, "repeat()")) : -1;
  return std::make_shared<RepeatIterator>(read[0], count);
}

struct CountIterator : IteratorValue {
  CountIterator(Interpreter& interpreter, Sym value, Sym step)
      : interpreter(interpreter), value(std::move(value)), step(std::move(step)) {}
  Sym next(Tracer&) override {
    Sym now = value;
    value = binary_operation(interpreter, kNbAdd, false, value, step);
    return now;
  }
  Interpreter& interpreter;
  Sym value, step;
};

Sym itertools_count(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("count", arguments);
  Sym start = read.keyword("start"), step = read.keyword("step");
  read.expect(0, 2);
  if (read.count() > 0) start = read[0];
  if (read.count() > 1) step = read[1];
  for (const Sym& value : {start, step}) {
    if (value && value->kind != SymKind::kSize &&
        !(value->kind == SymKind::kObject && PyLong_CheckExact(object_of(value).get()))) {
      throw_break("unsupported_call", "itertools.count() of floats");
    }
  }
  return std::make_shared<CountIterator>(interpreter, start ? start : interpreter.integer(0),
                                         step ? step : interpreter.integer(1));
}

struct PairwiseIterator : IteratorValue {
  explicit PairwiseIterator(std::shared_ptr<IteratorValue> items) : items(std::move(items)) {}
  Sym next(Tracer& tracer) override {
    if (!last && !(last = items->next(tracer))) return nullptr;
    Sym item = items->next(tracer);
    if (!item) return nullptr;
    return make_tuple({std::exchange(last, item), item});
  }
  std::shared_ptr<IteratorValue> items;
  Sym last;
};

Sym itertools_pairwise(Interpreter& interpreter, const CallArguments& arguments) {
  ArgumentReader read("pairwise", arguments);
  read.expect(1, 1);
  return std::make_shared<PairwiseIterator>(make_iterator(interpreter, read[0]));
}

}  // namespace

void add_operator_module(BuiltinEntries& entries) {
  auto add = [&](const char* name, BuiltinHandler handler) {
    entries.emplace_back("operator", name, handler);
  };
#define NUMLIFT_OPERATOR(name, op) add(#name, operator_binary<op, false>);
#define NUMLIFT_OPERATOR_IN_PLACE(name, op) add(#name, operator_binary<op, true>);
  NUMLIFT_OPERATOR(add, kNbAdd)
  NUMLIFT_OPERATOR(sub, kNbSubtract)
  NUMLIFT_OPERATOR(mul, kNbMultiply)
  NUMLIFT_OPERATOR(truediv, kNbTrueDivide)
  NUMLIFT_OPERATOR(floordiv, kNbFloorDivide)
  NUMLIFT_OPERATOR(mod, kNbRemainder)
  NUMLIFT_OPERATOR(pow, kNbPower)
  NUMLIFT_OPERATOR(matmul, kNbMatrixMultiply)
  NUMLIFT_OPERATOR(and_, kNbAnd)
  NUMLIFT_OPERATOR(or_, kNbOr)
  NUMLIFT_OPERATOR(xor, kNbXor)
  NUMLIFT_OPERATOR(lshift, kNbLshift)
  NUMLIFT_OPERATOR(rshift, kNbRshift)
  NUMLIFT_OPERATOR_IN_PLACE(iadd, kNbAdd)
  NUMLIFT_OPERATOR_IN_PLACE(isub, kNbSubtract)
  NUMLIFT_OPERATOR_IN_PLACE(imul, kNbMultiply)
  NUMLIFT_OPERATOR_IN_PLACE(itruediv, kNbTrueDivide)
  NUMLIFT_OPERATOR_IN_PLACE(ifloordiv, kNbFloorDivide)
  NUMLIFT_OPERATOR_IN_PLACE(imod, kNbRemainder)
  NUMLIFT_OPERATOR_IN_PLACE(ipow, kNbPower)
  NUMLIFT_OPERATOR_IN_PLACE(imatmul, kNbMatrixMultiply)
  NUMLIFT_OPERATOR_IN_PLACE(iand, kNbAnd)
  NUMLIFT_OPERATOR_IN_PLACE(ior, kNbOr)
  NUMLIFT_OPERATOR_IN_PLACE(ixor, kNbXor)
  NUMLIFT_OPERATOR_IN_PLACE(ilshift, kNbLshift)
  NUMLIFT_OPERATOR_IN_PLACE(irshift, kNbRshift)
  add("neg", operator_unary<UnaryOp::kNegative>);
  add("pos", operator_unary<UnaryOp::kPositive>);
  add("invert", operator_unary<UnaryOp::kInvert>);
  add("lt", operator_compare<kLess>);
  add("le", operator_compare<kLessEqual>);
  add("eq", operator_compare<kEqual>);
  add("ne", operator_compare<kNotEqual>);
  add("gt", operator_compare<kGreater>);
  add("ge", operator_compare<kGreaterEqual>);
  add("truth", operator_truth<true>);
  add("not_", operator_truth<false>);
  add("is_", operator_is<true>);
  add("is_not", operator_is<false>);
  add("contains", operator_contains);
  add("getitem", operator_getitem);
  add("index", operator_index);
  add("setitem", operator_setitem);
}

void add_library(BuiltinEntries& entries) {
  entries.emplace_back("functools", "reduce", functools_reduce);
  entries.emplace_back("functools", "partial", make_partial);
  entries.emplace_back("functools", "cmp_to_key", make_compare_key_maker);
  entries.emplace_back("itertools", "product", itertools_product);
  entries.emplace_back("itertools", "chain", itertools_chain);
  entries.emplace_back("itertools", "repeat", itertools_repeat);
  entries.emplace_back("itertools", "count", itertools_count);
  entries.emplace_back("itertools", "pairwise", itertools_pairwise);
  entries.emplace_back("numpy", "errstate", make_errstate);
  entries.emplace_back("numlift.explain", "error_on_graph_break", make_error_region);
  entries.emplace_back("numlift.explain", "_exit", leave_error_region);
}

}  // namespace numlift::frame_eval
