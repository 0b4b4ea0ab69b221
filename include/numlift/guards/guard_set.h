// All guards of one entry, flattened into one check that allocates nothing and runs no user code:
// cheapest and most selective first (arguments, then globals, then what hangs on other objects,
// then relations between sizes). The same checks answer "why not".
//
// The check also gathers the program's inputs: the object each source reads (slots) and the values
// of the symbols.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "numlift/graph/graph.h"
#include "numlift/guards/guard.h"
#include "numlift/guards/source.h"

namespace numlift::guards {

// A size expression prepared for the host: the common forms need no walk over terms.
class CompiledSize {
 public:
  CompiledSize() = default;
  explicit CompiledSize(SizeExpr expr);
  // False on overflow or division by 0.
  bool evaluate(std::span<const int64_t> symbols, int64_t* out) const {
    switch (form_) {
      case Form::kConstant:
        *out = constant_;
        return true;
      case Form::kSymbol:
        *out = symbols[symbol_];
        return true;
      case Form::kLinear: {
        int64_t product;
        return !__builtin_mul_overflow(symbols[symbol_], coefficient_, &product) &&
               !__builtin_add_overflow(product, constant_, out);
      }
      case Form::kGeneral:
        return evaluate_general(symbols, out);
    }
    return false;
  }

 private:
  bool evaluate_general(std::span<const int64_t> symbols, int64_t* out) const;
  enum class Form : uint8_t { kConstant, kSymbol, kLinear, kGeneral } form_ = Form::kConstant;
  uint32_t symbol_ = 0;
  int64_t coefficient_ = 1, constant_ = 0;
  SizeExpr expr_;
};

struct CompiledSizeGuard {
  SizeGuard::Relation relation;
  CompiledSize left, right;
  bool holds(std::span<const int64_t> symbols) const;
};

// A run-time input as guards see it: InputSpec without what only the program needs.
struct InputSource {
  SourcePtr source;
  bool is_array = false;
  bool stored_to = false;
};

// A guard as people read it.
struct GuardText {
  std::string source;     // "x", "np.sin"; "sizes" for a relation between sizes
  std::string kind;       // "array", "type", "constant", …
  std::string condition;  // "dtype f64, rank 2, C contiguous"
  std::string reason, place;
  std::string line() const;  // all in one line
};

class GuardSet {
 public:
  // `now`: the traced call, for which the guards hold. Every input has a guard on its source that
  // makes reading it safe (IsArray for arrays, IsInt64, HasType or EqualsConstant for others).
  GuardSet(std::vector<Guard> guards, const std::vector<InputSource>& inputs,
           const std::vector<Symbol>& symbols, const std::vector<SizeGuard>& size_guards,
           const CallInputs& now);

  size_t slot_count() const { return slots_.size(); }
  size_t symbol_count() const { return symbol_count_; }
  // Slot of program input `input`.
  uint32_t input_slot(uint32_t input) const { return input_slots_[input]; }
  // Input `input` is an argument, alive for the whole call without a reference of ours.
  bool is_argument(uint32_t input) const;
  // slots: slot_count() entries, symbols: symbol_count(). Both are filled when it holds.
  bool check(const CallInputs& inputs, PyObject** slots, int64_t* symbols);
  // The first guard that does not hold, with the value found: "x is dtype f64, rank 2, C
  // contiguous; expected dtype f32 … (…)". "" when all hold.
  std::string explain_miss(const CallInputs& inputs);
  // In the order of checking.
  std::vector<GuardText> texts() const;
  // Tells every object reference that the set owns.
  void collect_refs(class RefCollector* collector) const;

 private:
  struct Slot {
    SourcePtr source;
    int32_t parent = -1;
    bool is_static = false;  // read again only after one of static_dicts_ changed
  };
  struct Step {
    enum class Kind : uint8_t {
      kRead,     // slots[slot] = source
      kStatic,   // the static slots and the guards on them
      kCheck,    // predicate of guard `index` on slots[slot]
      kRelated,  // what slots[slot] and the other slots of guard `index` hold is one object, or
                 // are as many objects (IsSame, AreDistinct)
      kArray,    // the same, for IsArray
      kPacked,   // kRead of an argument, kArray, its dims to symbols[index + axis]; when it must be
                 // in C order without axes of size 1
      kType,     // the same as kCheck, for HasType
      kSymbol,   // symbols[index] from slots[slot]
      kDim,      // the same, of a dim
      kSize,     // size guard `index`
      kEqual,    // size guard `index`: symbols[slot] == symbols[other]
    } kind = Kind::kRead;
    bool writeable = false;  // kArray, kPacked: the program stores to it
    uint8_t axis = 0;
    SymbolKind symbol_kind = SymbolKind::kDim;
    uint32_t slot = 0;
    uint32_t index = 0;
    uint32_t other = 0;
    // kPacked: what the array must have.
    uint32_t argument = 0, guard = 0;
    int rank = 0, flags = 0;
    PyObject* descr = nullptr;  // the dtype's usual one: borrowed, lives as long as the process
  };
  struct WatchedDict {
    Ref dict;
    uint64_t version;
  };

  uint32_t slot_of(const SourcePtr& source, const CallInputs& now);
  bool is_static_source(const Source& source, int32_t parent, const CallInputs& now);
  bool is_static_guard(uint32_t guard) const;
  void watch(BorrowedRef dict);
  void emit_read(uint32_t slot);
  void emit_guard(uint32_t guard, const std::vector<Symbol>& symbols);
  bool emit_packed(uint32_t guard, const std::vector<Symbol>& symbols);
  bool check_packed(const Step& step, PyObject* object, int64_t* symbols) const;
  bool check_related(uint32_t guard, PyObject* const* slots) const;
  bool check_static(const CallInputs& inputs, PyObject** slots);
  BorrowedRef read_slot(uint32_t slot, const CallInputs& inputs, PyObject* const* slots) const;

  std::vector<Guard> guards_;
  std::vector<uint32_t> guard_slots_;                // by guard
  std::vector<std::vector<uint32_t>> guard_others_;  // by guard: slots of its other sources
  std::vector<bool> guard_writeable_;                // by guard
  std::vector<Slot> slots_;
  std::vector<bool> read_emitted_, symbol_emitted_;  // by slot, symbol; while steps_ is built
  std::vector<Step> steps_;
  std::vector<uint32_t> static_slots_;  // parents first
  std::vector<uint32_t> static_guards_;
  bool static_read_ = false;  // they have been: with no dict to watch nothing else tells
  std::vector<PyObject*> static_values_;  // by position in static_slots_; alive while versions hold
  std::vector<WatchedDict> static_dicts_;
  std::vector<uint32_t> input_slots_;
  std::vector<SizeGuard> size_guards_;
  std::vector<CompiledSizeGuard> compiled_size_guards_;
  size_t symbol_count_ = 0;
};

// Whether `predicate` holds of what a source read now (null: it could not be read).
bool holds(const Predicate& predicate, BorrowedRef value, bool must_be_writeable);
// What was found, in the words of the predicate: "dtype f64, rank 1, C contiguous", "type int".
std::string found_text(const Predicate& predicate, BorrowedRef value);

// Calls `visit` once for each object reference that these own (sources shared inside are visited
// once).
using RefVisitor = std::function<void(const Ref&)>;
class RefCollector {
 public:
  explicit RefCollector(RefVisitor visit) : visit_(std::move(visit)) {}
  void add(const Ref& ref) {
    if (ref) visit_(ref);
  }
  void add(const SourcePtr& source);
  void add(const Guard& guard);

 private:
  RefVisitor visit_;
  std::vector<const Source*> seen_;
};

}  // namespace numlift::guards
