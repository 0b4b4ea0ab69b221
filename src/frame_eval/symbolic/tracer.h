// The state of one trace: graph, guards, inputs; what handlers build with.
//
// A handler that cannot go on throws Break; the interpreter turns it into a TraceBreak for the
// whole call. (Results as values everywhere else; here an exception, since a break leaves any depth
// of inlined frames and helpers at once and nothing between can do anything about it.)
#pragma once

#include "numlift/py/python.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "numlift/frame_eval/trace.h"
#include "symbolic/value.h"

namespace numlift::frame_eval {

// `category`: id in break_reasons.def.
struct Break {
  std::string category;
  std::string reason;
  // The trace can stop at this instruction, so that CPython runs what cannot be traced, and go on
  // behind it (see Interpreter::stop_at). -1: not known yet, or nowhere.
  int64_t clock = -1;
  bool is_placed = false;               // `clock` is one at which a trace can stop
  std::vector<UserFrame> user_stack{};  // empty: where the tracer is now
};
// In bytes, of a fresh array whose axes are in `order` from slowest to fastest (empty: C order).
std::vector<SizeExpr> strides_for(const Type& type, const AxisOrder& order);

[[noreturn]] void throw_break(std::string category, std::string reason);
// What a loop that the program is to run cannot hold: it is not captured, see Regions::refused.
inline constexpr const char* kLoopRefused = "loop";
[[noreturn]] void refuse_loop(std::string reason);

// What an extern call's array results promise about their sizes. kGuess: a size that equals one of
// the operands' sizes (or 1) now is taken to be that size, which the program checks at run time.
enum class ExternDims : uint8_t { kGuess, kUnknown };

// What an extern call gives, where that is known without calling it.
struct PromisedResult {
  Ref now;  // a result of the kind, with the sizes that it has in this call; or null
  // The same for other sizes, `sizes` by symbol: what equals a size of an operand in both is that
  // size. Null: not known.
  Ref varied;
  std::vector<int64_t> sizes;
};

class Tracer {
 public:
  Tracer(BorrowedRef function, const guards::CallInputs& inputs);
  ~Tracer();

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

  // ---- nodes. The current source line and np.errstate are added here.
  NodeId append(Op op, std::vector<NodeId> operands, Attr attr, Type type, AxisOrder order = {});
  const Type& type_of(NodeId id) const { return graph_.node(id).type; }
  // The node that reads `array` as it is now (its storage's newest version through its view chain).
  NodeId read(const ArrayValue& array);
  // A fresh array whose elements are `node`; strides from `order`.
  Sym new_array(NodeId node, AxisOrder order = {});
  Sym new_scalar(NodeId node);  // kind by the node's type
  Sym new_size(SizeExpr expr);  // a constant expression gives a plain int object
  // A view of `base` by one more step; `strides` in bytes as NumPy would have them.
  Sym new_view(const ArrayValue& base, ViewStep step, std::vector<SizeExpr> strides);
  // target[...] = value for all of target's elements: value has target's dims (or rank 0) and
  // dtype.
  void store(ArrayValue& target, NodeId value);

  // ---- decisions on sizes: proven, or answered by the values seen now and guarded.
  bool decide_equal(const SizeExpr& a, const SizeExpr& b, const std::string& reason);
  bool decide_less(const SizeExpr& a, const SizeExpr& b, const std::string& reason);  // a < b
  bool decide_less_equal(const SizeExpr& a, const SizeExpr& b, const std::string& reason);
  int64_t specialize(const SizeExpr& expr, const std::string& reason);  // guarded to be this value
  int64_t hint(const SizeExpr& expr) const;
  // Known only when the program runs (the size of an extern's result): not to be decided on.
  bool depends_on_extern(const SizeExpr& expr) const;
  // Equal symbols are merged: dims that were decided equal are structurally equal from then on.
  SizeExpr simplify(const SizeExpr& expr) const;

  // ---- regions: what the program itself decides and repeats (tracer_regions.cpp). Within them
  // nothing can be known of this very call alone, and nothing outside can be changed.
  bool in_region() const { return !open_regions_.empty(); }
  size_t region_depth() const { return open_regions_.size(); }
  bool is_innermost_region(NodeId begin) const {
    return in_region() && open_regions_.back() == begin;
  }
  // Ends all regions but the outermost `depth` ones: the path through them is over.
  void leave_regions(size_t depth);
  // Loop, If, Block; closed by leave_region.
  NodeId enter_region(Op op, std::vector<NodeId> operands, Attr attr);
  void leave_region(NodeId begin);
  // Else, Break, Continue, Check: nodes without a value.
  NodeId control(Op op, NodeId operand, Attr attr = NoAttr{});
  void assign(std::vector<SymbolId> symbols, std::vector<NodeId> values);
  // The node goes before another one that is there already.
  void move_before(NodeId node, NodeId before);
  // A symbol that the program sets; bounds that its values keep, where there are any.
  struct Bounds {
    SizeExpr least, most;
  };
  SizeExpr run_symbol(int64_t hint, std::optional<Bounds> bounds);
  size_t symbol_count() const { return graph_.symbols.size(); }
  bool depends_on_run(const SizeExpr& expr) const;
  // Not to be decided by the values of this call: the sizes of externs' results in a region, too.
  bool is_run_time(const SizeExpr& expr) const {
    return depends_on_run(expr) || (in_region() && depends_on_extern(expr));
  }
  bool has_bounds(const SizeExpr& expr) const;
  // A run-time integer as a size, for as long as it is used.
  SizeExpr size_of(NodeId integer, int64_t hint);
  NodeId size_node(const SizeExpr& expr);
  // How many elements of a mask are true: one size for all that it selects.
  SizeExpr count_of(NodeId mask);
  std::optional<SizeExpr> known_count_of(NodeId mask) const;
  void note_count_of(NodeId mask, const SizeExpr& count);
  // The sizes of an extern's array, which the program checks.
  void promise_sizes(const Sym& array, std::vector<SizeExpr> dims);
  // Whether the relation holds in every iteration, or in none; guarded where this call shows it.
  // nullopt: it may be one or the other.
  std::optional<bool> holds_always(SizeGuard::Relation relation, const SizeExpr& a,
                                   const SizeExpr& b, const std::string& reason);

  // ---- constants and outside objects
  // No source: never guarded. The class that stands for one made in the frame is that one.
  Sym constant(Ref object);
  void add_made_class(const Sym& made);
  bool has_made_classes() const;
  // The class that was made in the frame, for the real one that stands for it; null: another class.
  Sym made_class(BorrowedRef stand_in) const;
  Sym outside(
      Ref object,
      guards::SourcePtr source);  // array, number, tuple, … by its type; guards what it must
  void guard(guards::SourcePtr source, guards::Predicate predicate, std::string reason);
  // The real object when the value is one that is the same in every call that meets the guards
  // (adds the identity or equality guard for it); nullopt for run-time values and tracked
  // containers.
  std::optional<Ref> as_constant(const Sym& value, const std::string& reason);
  // As as_constant, and containers of constants are built for real (axis=(0, 1)); run-time Python
  // numbers in them are specialised.
  std::optional<Ref> as_deep_constant(const Sym& value, const std::string& reason);
  // A run-time Python or NumPy scalar input is replaced by its value now, guarded.
  Sym specialize_value(const Sym& value, const std::string& reason);

  // ---- effects on objects from outside: calls that are made, in this order, when the program has
  // run. What they are given is built before the first of them.
  void record_effect(const Sym& owner, CallShape call);
  // The same for a call that sets what `key` names in `owner` to its last argument: of two such
  // calls only the later value is set, in the place of the first.
  void record_set(const Sym& owner, BorrowedRef key, CallShape call);
  // The call's own reference to argument `index` goes: only behind a graph break, where the frames
  // own the arguments.
  void record_release(uint32_t index, const Sym& value);
  // Asked before each effect, with its call.
  std::function<void(const CallShape&)> before_effect;
  struct Effect {
    Sym owner;
    Ref key;  // null: the call does something else than to set
    CallShape call;
    std::optional<uint32_t> released{};  // an argument, instead of the call
  };
  const std::vector<Effect>& effects() const { return effects_; }
  // One value for one object that can change, by whatever sources it is reached. `made` for the
  // first source; the others are guarded to read the same object.
  void add_identity(BorrowedRef object, const Sym& made);
  // Whether these are two objects that can change; guarded.
  bool guard_two(const Sym& a, const Sym& b);
  // Changes a global variable: told apart from dicts that are reached as objects.
  void add_changed_globals(BorrowedRef globals);

  // ---- externs: calls `callable` at run time with these values.
  // The result's structure, dtypes and ranks are learned by calling it now on the present values of
  // its arguments (pure callables only, with warnings and FP conditions silenced); the program
  // checks them.
  Sym extern_call(BorrowedRef callable, std::span<const Sym> args,
                  std::span<const std::pair<Ref, Sym>> kwargs, const std::string& name,
                  ExternDims dims = ExternDims::kGuess, const PromisedResult& promised = {});

  // The same of a method that draws from a random generator, which is its first argument. In the
  // trial call `stand_in` is drawn from.
  Sym draw(BorrowedRef method, std::span<const Sym> args,
           std::span<const std::pair<Ref, Sym>> kwargs, const std::string& name, ExternDims dims,
           const Ref& stand_in);

  // ---- present values: what a value is in this very call (runs the graph's slow back end on the
  // prefix it needs). Nothing random, nothing with effects is ever run. Throws Break when not
  // possible.
  Ref present_value(const Sym& value);

  // ---- what the user's code does with arrays, for explain: one entry an operation of theirs,
  // whatever it is made of. `run` carries it out; `name` is asked when there was anything to do.
  template <class Name, class Run>
  auto operation(Name name, Run run) {
    const size_t before = graph_.size();
    struct Depth {
      explicit Depth(int& depth) : depth(++depth) {}
      ~Depth() { --depth; }
      int& depth;
    };
    auto result = [&] {
      const Depth inside(operation_depth_);
      return run();
    }();
    if (operation_depth_ == 0 && (graph_.size() != before || is_array(result))) {
      operations_.push_back(name());
    }
    return result;
  }

  // Whether the back end knows regions and checks, and puts the states of random generators back.
  bool takes_control_flow = true;

  // ---- where the trace is now
  uint8_t fp_checks = kFpAll;  // from np.errstate; a traced `with np.errstate` changes it
  // Products, linear algebra and reads through arrays stay NumPy's calls: transforms have rules for
  // these.
  bool leaves_calls = false;
  // Whether the code of an operation may be loops and branches of the program.
  bool may_add_regions() const { return in_region() && !leaves_calls; }
  std::optional<bool> error_on_break;  // of the error_on_graph_break() regions that the trace is in
  void set_location(const std::string& file, const std::string& function, int line);
  std::string location_text() const;

  // Ends the trace: the results become outputs and recipe.
  TraceResult finish(const std::vector<Sym>& results);
  TraceBreak finish_break(const Break& reason);
  BreakInfo break_info(const Break& reason) const;

 private:
  struct State;
  static bool is_array(const Sym& value) { return value && value->kind == SymKind::kArray; }
  static bool is_array(bool) { return false; }
  Sym open_array(BorrowedRef array, guards::SourcePtr source);
  Sym open_scalar(BorrowedRef scalar, guards::SourcePtr source, InputSpec::Kind kind, DType dtype);
  Sym open_int(BorrowedRef number, guards::SourcePtr source);
  Ref present_node(NodeId id);
  bool is_numpys(Op op, const std::vector<NodeId>& operands, const Type& type) const;
  SymbolId new_symbol(SymbolKind kind, uint32_t input, uint32_t axis, int64_t hint);
  bool answer(SizeGuard::Relation relation, const SizeExpr& a, const SizeExpr& b, bool holds,
              const std::string& reason);
  void merge_sizes(const SizeExpr& a, const SizeExpr& b);
  std::optional<SizeExpr> extreme(const SizeExpr& expr, bool most) const;
  void announce_effect(const CallShape& call);
  void forget_counts(NodeId since);
  bool take_as_equal(const SizeExpr& a, const SizeExpr& b);
  bool decide_in_run(SizeGuard::Relation relation, const SizeExpr& a, const SizeExpr& b,
                     const std::string& reason);
  // The node's value hangs on what regions have stored or set, or on what was drawn.
  bool needs_run(NodeId id) const { return (has_regions_ || has_draws_) && depends_on_region(id); }
  bool depends_on_region(NodeId id) const;
  void guard_distinct();
  void apply_merges();

  std::unique_ptr<State> state_;
  Graph graph_;
  std::vector<Effect> effects_;
  std::vector<std::string> operations_;
  int operation_depth_ = 0;
  std::vector<NodeId> open_regions_;  // their begins, outermost first
  bool has_regions_ = false;
  bool has_draws_ = false;  // from random generators
  friend class ExternCall;
  friend class Transforms;
};

// As long as it lives, only these floating-point conditions are looked for in what is traced.
class ScopedFpChecks {
 public:
  ScopedFpChecks(Tracer& tracer, uint8_t checks) : tracer_(tracer), before_(tracer.fp_checks) {
    tracer.fp_checks = checks;
  }
  ~ScopedFpChecks() { tracer_.fp_checks = before_; }
  ScopedFpChecks(const ScopedFpChecks&) = delete;
  ScopedFpChecks& operator=(const ScopedFpChecks&) = delete;

 private:
  Tracer& tracer_;
  uint8_t before_;
};

}  // namespace numlift::frame_eval
