// Symbolic values: what stands on the symbolic stack and in the locals while a frame is traced.
//
// Values are shared by pointer; pointer equality is Python's identity for what was made in the
// frame. Objects from outside keep the real object and the source they came from; nothing is
// guarded until something of them is used (Tracer::guard_*).
#pragma once

#include "numlift/py/python.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "numlift/frame_eval/bytecode.h"
#include "numlift/graph/graph.h"
#include "numlift/guards/source.h"
#include "numlift/py/ref.h"

namespace numlift::frame_eval {

struct SymbolicValue;
using Sym = std::shared_ptr<SymbolicValue>;

enum class SymKind : uint8_t {
  kNull,    // the NULL of calls
  kObject,  // a real Python object (constant, module, function, class, None, str, …)
  kArray,   // numpy.ndarray that is (or will be) memory of the program
  kScalar,  // NumPy scalar, or Python float / complex / bool known only at run time
  kSize,    // Python int known only at run time
  kTuple,
  kList,
  kSet,   // SetValue (sets.h)
  kDict,  // containers made in the frame (or opened outside tuples)
  kSlice,
  kFunction,  // a Python function made in the frame
  kMethod,    // callable with its first argument bound: user method, array method by name, …
  kCell,
  kIterator,
  kException,  // an exception instance made in the frame, or by an operation that raised in it
  kGrownList,  // a list that a loop of the program makes longer (grown_list.h)
};

// Counts the instructions of the running trace, as far as a trace can stop before them: see
// Interpreter::stop_at.
int64_t& trace_clock();

struct SymbolicValue {
  explicit SymbolicValue(SymKind kind) : SymbolicValue(kind, trace_clock()) {}
  SymbolicValue(SymKind kind, int64_t born) : kind(kind), born(born) {}
  virtual ~SymbolicValue() = default;
  const SymKind kind;
  const int64_t born;        // the instruction that made it
  guards::SourcePtr source;  // null: made in the frame, or a constant of the code
};

// What the trace knows of an object beyond what the real one shows. Of an object from outside: what
// the traced code changed. Of one made in the frame: all there is.
struct ObjectState {
  // Attributes in the object itself (its dict, its slots), in the order in which they were first
  // set. Null: deleted.
  std::vector<std::pair<Ref, Sym>> attributes;
  // A changed list or dict: a kList or kDict value that holds all of it, once the whole was looked
  // at; until then what was put behind the items of the list, or set (null: removed) in the dict.
  Sym content;
  std::vector<Sym> appended;
  std::vector<std::pair<Sym, Sym>> entries;
  // A set or deque from outside: the methods that were called on it, until its items were looked
  // at.
  std::vector<std::pair<std::string, std::vector<Sym>>> calls;
};

struct ObjectValue : SymbolicValue {
  explicit ObjectValue(Ref object) : SymbolicValue(SymKind::kObject), object(std::move(object)) {}
  // Of a value made in the frame (is_new): an empty object of its class, which stands for the class
  // in questions about types and is never handed out.
  Ref object;
  bool is_new = false;
  std::unique_ptr<ObjectState> state;  // null: nothing is known beyond `object`

  ObjectState& changed() {
    if (!state) state = std::make_unique<ObjectState>();
    return *state;
  }
  // The real object is not what the traced code would see.
  bool differs() const { return is_new || state != nullptr; }
};

// Memory that arrays share. `current` is its newest version in the graph; every read and view names
// it.
struct Storage {
  NodeId current = kNoNode;
  bool is_input = false;
  bool stored_to = false;
  // State of a loop or branch that may stand for an array that other variables hold as well: its
  // values are right, the identity of its memory is not.
  bool may_alias = false;
  // An item of a GrownList, which has a copy: nobody may store to it any more.
  bool is_item = false;
  uint32_t input = 0;  // index into TraceResult::inputs
};

// One step of a view: View with its map, Reshape, or PartView, applied to the version.
struct ViewStep {
  Op op = Op::kView;
  Attr attr;
  Type type;
  bool operator==(const ViewStep&) const = default;
};

struct ArrayValue : SymbolicValue {
  ArrayValue() : SymbolicValue(SymKind::kArray) {}
  std::shared_ptr<Storage> storage;
  std::vector<ViewStep> chain;  // from the storage to this array; empty: the whole buffer
  Type type;
  std::vector<SizeExpr> strides;  // in bytes, as NumPy shows them
  bool writeable = true;
  bool read_only = false;  // NumPy makes it so, whatever its memory allows (broadcast_to, …)
};

struct ScalarValue : SymbolicValue {
  ScalarValue(NodeId node, Type type)
      : SymbolicValue(SymKind::kScalar), node(node), type(std::move(type)) {}
  NodeId node;
  Type type;  // kNumpyScalar or kPyScalar
  // It may also be the Python number of the same value: state of a loop that begins with one.
  bool either = false;
};

struct SizeValue : SymbolicValue {
  explicit SizeValue(SizeExpr expr) : SymbolicValue(SymKind::kSize), expr(std::move(expr)) {}
  SizeExpr expr;
};

// Tuples and lists; an opened outside tuple keeps its source and object.
struct SequenceValue : SymbolicValue {
  using SymbolicValue::SymbolicValue;
  std::vector<Sym> items;
  Ref object;             // the outside tuple it stands for, or null
  Ref named_tuple_class;  // kTuple only
};

// Insertion-ordered; keys are constants (kObject with a hashable real object), or instances made in
// the frame.
struct DictValue : SymbolicValue {
  DictValue() : SymbolicValue(SymKind::kDict) {}
  std::vector<std::pair<Sym, Sym>> items;
  uint64_t removals = 0;  // how often an item was taken out
  // What the hash of keys with a __hash__ written in Python was when they were put in.
  std::vector<std::pair<const SymbolicValue*, Py_hash_t>> hashes;
};

struct SliceValue : SymbolicValue {
  SliceValue(Sym start, Sym stop, Sym step)
      : SymbolicValue(SymKind::kSlice),
        start(std::move(start)),
        stop(std::move(stop)),
        step(std::move(step)) {}
  Sym start, stop, step;  // kObject None when absent
};

struct CellValue : SymbolicValue {
  CellValue() : SymbolicValue(SymKind::kCell) {}
  Sym content;              // null: empty
  Ref outside;              // the real cell, when it existed before the call
  bool is_changed = false;  // `content` is all there is to know of the outside cell
};

struct FunctionValue : SymbolicValue {
  FunctionValue() : SymbolicValue(SymKind::kFunction) {}
  Ref code;
  Ref globals;
  std::vector<std::shared_ptr<CellValue>> closure;
  std::vector<Sym> defaults;
  std::vector<std::pair<Ref, Sym>> kwdefaults;
  Sym type_parameters;  // null: none
  // Null: none. A tuple of names and values in turn, a dict, or the function that makes them.
  Sym annotations;
  std::vector<std::pair<Ref, Sym>> texts;  // __name__, __doc__ and the like that were set
  std::shared_ptr<DictValue> dict;         // its __dict__; null: nobody has looked at it
};

struct MethodValue : SymbolicValue {
  MethodValue(Sym self, Sym function, Ref name)
      : SymbolicValue(SymKind::kMethod),
        self(std::move(self)),
        function(std::move(function)),
        name(std::move(name)) {}
  Sym self;
  Sym function;  // null: the built-in method `name` of an array, scalar, list, dict, …
  Ref name;
};

// How a real object in a value's present state is made: a call that has no effect, then so many
// next(), or __setstate__() with the place.
struct CallShape {
  Ref callable;
  std::vector<Sym> arguments;  // positional ones first, then one a keyword
  Ref keyword_names;           // tuple or null
  int64_t advance = 0;
  std::optional<int64_t> place{};
};

// Produces the next value, or nullptr when exhausted. May throw Break.
struct IteratorValue : SymbolicValue {
  IteratorValue() : SymbolicValue(SymKind::kIterator) {}
  explicit IteratorValue(int64_t born) : SymbolicValue(SymKind::kIterator, born) {}
  virtual Sym next(class Tracer& tracer) = 0;
  // Of iterators that know their items by number: how many are left, and the one that is `index`
  // ahead. Throws Break where that cannot be told.
  virtual std::optional<SizeExpr> items_left(Tracer&) { return std::nullopt; }
  virtual Sym item_ahead(Tracer&, const SizeExpr&) { return nullptr; }
  // nullopt: it cannot be handed to CPython.
  virtual std::optional<CallShape> shape() const { return std::nullopt; }
  // The class that the object has in CPython; null: not known.
  virtual Ref type() const { return {}; }
};

}  // namespace numlift::frame_eval
