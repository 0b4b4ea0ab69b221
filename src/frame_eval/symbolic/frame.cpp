// Frames and the binding of arguments to parameters.
#include "symbolic/frame.h"

#include <algorithm>

#include "numlift/py/py_error.h"
#include "numlift/support/check.h"
#include "numlift/support/options.h"
#include "symbolic/limits.h"
#include "symbolic/tracer.h"

namespace numlift::frame_eval {

Sym Frame::pop() {
  NUMLIFT_CHECK(!stack.empty(), "symbolic stack is empty in {}", name);
  Sym value = std::move(stack.back());
  stack.pop_back();
  return value;
}

Sym& Frame::peek(int depth) {
  NUMLIFT_CHECK(depth >= 1 && static_cast<size_t>(depth) <= stack.size(),
                "symbolic stack of {} has no value {} deep", name, depth);
  return stack[stack.size() - static_cast<size_t>(depth)];
}

std::vector<Sym> Frame::pop_many(int count) {
  NUMLIFT_CHECK(count >= 0 && static_cast<size_t>(count) <= stack.size(),
                "symbolic stack of {} has fewer than {} values", name, count);
  const auto first = stack.end() - count;
  std::vector<Sym> values(std::make_move_iterator(first), std::make_move_iterator(stack.end()));
  stack.erase(first, stack.end());
  return values;
}

void Frame::drop_values() {
  while (!stack.empty()) stack.pop_back();
  if (frames_end_backward()) std::reverse(slots.begin(), slots.end());
  for (Sym& value : slots) value = nullptr;
  slots.clear();
}

void end_for(Frame& frame, const Instruction& for_iter) {
  // What the exhausted loop leaves on the stack for the instructions at the target depends on the
  // version; the stack effect tells.
  const int effect = stack_effect(for_iter, true);
  if (effect < 0) {
    frame.pop_many(-effect);
  } else {
    for (int i = 0; i < effect; ++i) frame.push(null_value());
  }
  frame.next = static_cast<size_t>(for_iter.target);
}

void count_trip(Frame& frame, size_t place, size_t graph_nodes) {
  LoopTrips& trips = frame.trips[place];
  if (trips.count == 0) {
    trips.began = frame.unit_clock;
    trips.nodes = graph_nodes;
  }
  if (graph_nodes > trips.nodes + kMostUnrolledNodes)
    throw Break{"too_long",
                fmt::format("an unrolled loop of {} operations", graph_nodes - trips.nodes),
                trips.began};
  const int64_t limit = options().unroll_limit;
  if (++trips.count <= limit) return;
  throw Break{"too_long", fmt::format("a loop that runs more than {} times", limit), trips.began};
}

const Sym& null_value() {
  static const Sym null = std::make_shared<SymbolicValue>(SymKind::kNull);
  return null;
}

namespace {

std::string utf8(BorrowedRef text) {
  const char* chars = PyUnicode_AsUTF8(text.get());
  if (chars == nullptr) PyErr_Clear();
  return chars == nullptr ? "?" : chars;
}

std::string function_text(BorrowedRef code) {
  return utf8(reinterpret_cast<PyCodeObject*>(code.get())->co_name) + "()";
}

// Parameters of a code object, in the order of their slots.
struct Parameters {
  explicit Parameters(BorrowedRef code_object) {
    auto* code = reinterpret_cast<PyCodeObject*>(code_object.get());
    positional = static_cast<size_t>(code->co_argcount);
    positional_only = static_cast<size_t>(code->co_posonlyargcount);
    keyword_only = static_cast<size_t>(code->co_kwonlyargcount);
    has_var_positional = (code->co_flags & CO_VARARGS) != 0;
    has_var_keyword = (code->co_flags & CO_VARKEYWORDS) != 0;
    names = checked(PyCode_GetVarnames(code));
  }
  BorrowedRef name(size_t slot) const {
    return PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(slot));
  }
  // Slot of a parameter that may be given by keyword; nullopt: none of that name.
  std::optional<size_t> find_keyword(BorrowedRef keyword) const {
    for (size_t slot = positional_only; slot < positional + keyword_only; ++slot) {
      if (PyUnicode_Compare(name(slot).get(), keyword.get()) == 0) return slot;
    }
    return std::nullopt;
  }
  size_t var_positional_slot() const { return positional + keyword_only; }
  size_t var_keyword_slot() const { return var_positional_slot() + (has_var_positional ? 1 : 0); }

  size_t positional, positional_only, keyword_only;
  bool has_var_positional, has_var_keyword;
  Ref names;
};

}  // namespace

std::unique_ptr<Frame> make_empty_frame(BorrowedRef code, Ref globals,
                                        std::vector<std::shared_ptr<CellValue>> closure) {
  auto frame = std::make_unique<Frame>();
  frame->bytecode = decode(code);
  frame->globals = std::move(globals);
  frame->closure = std::move(closure);
  auto* raw = reinterpret_cast<PyCodeObject*>(code.get());
  frame->file = utf8(raw->co_filename);
  frame->name = utf8(raw->co_name);
  PyObject* module = PyDict_GetItemString(frame->globals.get(), "__name__");
  const std::string name = module != nullptr ? utf8(module) : "";
  frame->is_polyfill =
      name.starts_with("numlift.polyfills") || name.starts_with("numlift.transforms");
  frame->slots.resize(static_cast<size_t>(frame->bytecode->nslots));
  frame->stack.reserve(static_cast<size_t>(frame->bytecode->stack_size));
  return frame;
}

std::unique_ptr<Frame> make_frame(const FunctionParts& function, CallArguments arguments) {
  const Parameters parameters(function.code);
  auto frame = make_empty_frame(function.code, function.globals, function.closure);
  auto& slots = frame->slots;
  auto& given = arguments.positional;

  for (size_t i = 0; i < std::min(given.size(), parameters.positional); ++i) {
    slots[i] = std::move(given[i]);  // no reference but the frame's own stays
  }
  if (parameters.has_var_positional) {
    auto rest = std::make_shared<SequenceValue>(SymKind::kTuple);
    for (size_t i = parameters.positional; i < given.size(); ++i) {
      rest->items.push_back(std::move(given[i]));
    }
    slots[parameters.var_positional_slot()] = std::move(rest);
  } else if (given.size() > parameters.positional) {
    throw_break("would_raise",
                fmt::format("{} takes {} positional arguments but {} were given",
                            function_text(function.code), parameters.positional, given.size()));
  }

  auto extra = std::make_shared<DictValue>();
  for (auto& [keyword, value] : arguments.keywords) {
    if (auto slot = parameters.find_keyword(keyword)) {
      if (slots[*slot]) {
        throw_break("would_raise", fmt::format("{} got multiple values for argument {}",
                                               function_text(function.code), utf8(keyword)));
      }
      slots[*slot] = std::move(value);
    } else if (parameters.has_var_keyword) {
      extra->items.emplace_back(std::make_shared<ObjectValue>(keyword), std::move(value));
    } else {
      throw_break("would_raise", fmt::format("{} got an unexpected keyword argument {}",
                                             function_text(function.code), utf8(keyword)));
    }
  }
  if (parameters.has_var_keyword) slots[parameters.var_keyword_slot()] = std::move(extra);

  const size_t defaults = std::min(function.defaults.size(), parameters.positional);
  for (size_t i = 0; i < defaults; ++i) {
    Sym& slot = slots[parameters.positional - defaults + i];
    if (!slot) slot = function.defaults[function.defaults.size() - defaults + i];
  }
  for (const auto& [name, value] : function.kwdefaults) {
    for (size_t slot = parameters.positional; slot < parameters.var_positional_slot(); ++slot) {
      if (!slots[slot] && PyUnicode_Compare(parameters.name(slot).get(), name.get()) == 0) {
        slots[slot] = value;
      }
    }
  }
  for (size_t slot = 0; slot < parameters.var_positional_slot(); ++slot) {
    if (!slots[slot]) {
      throw_break("would_raise", fmt::format("{} misses argument {}", function_text(function.code),
                                             utf8(parameters.name(slot))));
    }
  }
  return frame;
}

}  // namespace numlift::frame_eval
