// Loops and branches that the program itself runs.
//
// A loop's body is traced once, with the variables that live across iterations held in memory or in
// symbols; both arms of a branch that only the run can decide are traced, and what they leave is
// merged where they meet. Whatever cannot be done so (an effect on an outside object, state that no
// memory holds, a graph break) refuses the innermost loop: the call is traced anew, and that loop
// is unrolled or broken up as if it had never been tried.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "symbolic/control_flow.h"
#include "symbolic/frame_state.h"
#include "symbolic/grown_list.h"
#include "symbolic/hatch_calls.h"
#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// A place of a frame's state: a slot, or an item of the tuple in a slot.
struct StatePlace {
  size_t slot = 0;
  std::optional<size_t> item{};
  auto operator<=>(const StatePlace&) const = default;
};

// A slot, or a place of the stack from its bottom on.
struct ListPlace {
  bool is_on_stack = false;
  size_t index = 0;
  auto operator<=>(const ListPlace&) const = default;
};

// What is known of the loops of one call from earlier traces of it.
struct LoopFacts {
  bool may_capture = true;
  struct Loop {
    bool is_refused = false;
    std::string why;  // it is refused
    int attempts = 0;
    std::map<StatePlace, StateType> state;  // where it is another than that at the beginning
    std::set<StatePlace> may_alias;
    std::map<size_t, size_t> opened;  // by slot: tuples of this length, whose items are the state
    // Lists that the loop makes longer, by where they are when it begins.
    struct List {
      StateType element;
      Growth growth = Growth::kFixed;
    };
    std::map<ListPlace, List> lists;
    int size_classes = 0;  // numbers of StateType::changing given so far
  };
  using Place = std::pair<const Bytecode*, size_t>;  // its head
  std::map<Place, Loop> loops;
  // Short loops, and while loops, are tried once they turned out to be long, or to hang on values.
  std::set<Place> wanted;

  // Those that are not captured, in the order of the code.
  std::vector<LoopLeft> left() const;
};

// Of a generator or coroutine.
inline bool is_generator(const Frame& frame) {
  const auto* code = reinterpret_cast<PyCodeObject*>(frame.bytecode->code.get());
  return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

class Regions {
 public:
  Regions(Interpreter& interpreter, LoopFacts& facts) : interpreter_(interpreter), facts_(facts) {}

  // At a ForIter, before it is carried out. True: it was captured, and the frame stands behind it.
  bool capture_for(Frame& frame, const Instruction& instruction);
  // At the head of a while loop that is wanted. True as above.
  bool capture_while(Frame& frame, size_t head);
  bool wants_while(const Frame& frame, size_t head) const;
  bool wants_any(const Frame& frame) const;
  // A while loop has run for long: it is to be captured. Throws Retrace, or returns.
  void want_while(const Frame& frame, size_t head);

  // A trace has come to its end at this place of a loop that it unrolled, for want of a value that
  // only the run knows: the loop is to be captured.
  void want_loop_of(const Frame& frame);
  bool wants_more() const { return wants_more_; }

  // A branch on a run-time bool can be taken into the graph here. Throws Retrace when the loop that
  // it belongs to has to be captured first.
  bool may_branch(const Frame& frame, size_t if_true, size_t if_false);
  // Both ways are traced, up to where they meet; the frame stands there. The condition is gone from
  // the stack.
  void branch(Frame& frame, NodeId condition, FrameState true_state, size_t if_true,
              FrameState false_state, size_t if_false);

  // What is done to a list in a loop of the program. False, or null: it is a list like any other,
  // and up to the caller. Throws Retrace when the list has to become a GrownList first.
  bool append(const Sym& list, const Sym& item);
  Sym pop(const Sym& list);
  Sym item_of(const Sym& list, const Sym& key);
  bool set_item(const Sym& list, const Sym& key, const Sym& item);

  bool is_open() const { return !open_.empty(); }
  bool has_captured() const { return !captured_.empty(); }
  // The next trace does not capture the innermost open loop, in which this one came to an end; or,
  // where none is open, all that were captured: they left state that the code cannot use.
  Retrace refused(const std::string& why);

 private:
  struct Variable {
    StatePlace place;
    Carrier carrier;
    Sym value;  // what the body sees at the head; null: it is not set
    bool begins_set = false;
    std::optional<StateType> around;  // what iterations leave in it
    bool aliases = false;             // ... which other variables may hold
  };
  struct GrowingList {
    std::shared_ptr<GrownList> list;
    SizeExpr before;            // its length before the loop
    SizeExpr behind_iteration;  // kCounted
    LoopFacts::Loop::List* facts = nullptr;
    void begin_iteration(const SizeExpr& counter);
    bool is_behind_iteration() const;
  };
  struct Context {
    Frame* frame = nullptr;
    size_t head = 0;
    int64_t begins_at = 0;  // trace_clock()
    std::vector<GrowingList> lists;
    Paths paths;
    size_t merge = kSink;  // where the ways out of the loop meet
    NodeId block{}, loop{};
    size_t symbols = 0;  // those that there were before the loop
    std::vector<Variable> variables;
    std::vector<std::pair<StatePlace, Sym>> constants;  // what must not change
    std::map<size_t, std::vector<Sym>> tuples;          // by slot: items as they are at the head
    SizeSymbols sizes;
    // Sizes before the loop, by number: of what changes size from the first iteration on, or later.
    std::vector<std::pair<SizeExpr, int>> size_classes;
    std::vector<PathEnd> exits;
    LoopFacts::Loop* facts = nullptr;
  };
  // A path has left through an enclosing construct, or restarts the program: nothing follows.
  struct PathOver {};
  // Where an arm of a branch or a loop's body begins: what was opened in it is closed when its path
  // is over.
  struct Mark {
    size_t regions, contexts, open;
    Interpreter::Nesting nesting;
    FrameState state;
  };
  Mark mark(const Frame& frame) const;
  void return_to(const Mark& mark, Frame& frame);

  bool is_refused(const LoopFacts::Place& place) const;
  // The while loop that one of the two ways of a test leads straight into.
  std::optional<LoopFacts::Place> tested_loop(const Frame& frame, size_t if_true,
                                              size_t if_false) const;
  void capture(Frame& frame, Paths paths, size_t head, const std::optional<SizeExpr>& trips,
               const std::function<void(const SizeExpr& counter)>& enter,
               const std::function<void()>& exhaust);
  void make_state(Frame& frame, Context* context);
  // `count`: of the loop's iterations, which is not negative; nullopt: a while loop.
  void grow_lists(Frame& frame, Context* context, const std::optional<SizeExpr>& count);
  // The list becomes one that the loop can grow: in the states, too, which are of the same frame.
  // Null: it is one, of a loop around this one.
  std::shared_ptr<GrownList> grow_list(Frame& frame, const ListPlace& place,
                                       const LoopFacts::Loop::List& facts,
                                       const std::optional<SizeExpr>& count,
                                       const std::vector<FrameState*>& states);
  bool lists_are_counted(Context& context);
  void finish_lists(Context* context, const std::optional<SizeExpr>& count);
  // The open loop that makes this list longer.
  std::pair<Context*, GrowingList*> growing(const Sym& list);
  void note_growth(GrowingList& list, Growth growth);
  void must_grow(const Sym& list, const std::optional<StateType>& element, Growth growth);
  void go_around(Context& context);
  void meet_exits(Frame& frame, Context* context, const RegionStart& start, bool is_exhausted);
  // False: the call is to be traced anew, with what is known now.
  bool make_late(Variable* variable, const StateType& type, Context* context);
  int size_class(Context& context, const SizeExpr& size);
  // False: its kind, or that it is a tuple to be opened, is news.
  bool go_around_with(const Frame& frame, Context& context, Variable& variable,
                      const std::vector<bool>& live,
                      std::vector<std::pair<const Carrier*, Sym>>* stores);
  bool stays(const Frame& frame, Context& context, const StatePlace& place, const Sym& value);
  bool part_sizes(const Frame& frame, Context& context);
  std::optional<StateType> join_arrays(Context& context, const StateType& carrier,
                                       const StateType& now);
  Sym exhausted_value(const Variable& variable, bool has_run);
  FrameState exhausted_state(const Context& context, const FrameState& at_head, bool has_run);
  // True: the path stands at `merge`, or has returned from the function where that is the sink.
  bool run_path(Frame& frame, size_t merge, Sym* returned, bool at_head = false);
  void leave(Frame& frame, const Sym& returned);
  [[noreturn]] void end_path() const;
  // The frame stands where all the paths meet, which is `merge`, or returns what they have.
  void meet(Frame& frame, size_t merge, const std::vector<PathEnd>& ends, const RegionStart& start);
  const Paths& paths_of(const Frame& frame);
  Context* context_of(const Frame& frame) const;
  std::vector<bool> live_at(const Frame& frame, size_t index) const;

  Interpreter& interpreter_;
  LoopFacts& facts_;
  std::vector<std::unique_ptr<Context>> contexts_;  // open loops, outermost first
  std::vector<LoopFacts::Place> open_, captured_;
  std::map<const Bytecode*, Paths> function_paths_;
  bool wants_more_ = false;
};

}  // namespace numlift::frame_eval
