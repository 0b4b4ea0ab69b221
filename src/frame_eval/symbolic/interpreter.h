// The symbolic interpreter: runs canonical bytecode on symbolic values. It knows Python; what NumPy
// does is behind numpy_calls.h, what the graph is behind tracer.h.
//
// One Interpreter serves one trace. It runs no user code and changes nothing outside; a handler
// that cannot go on throws Break.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "numlift/frame_eval/resume_code.h"
#include "numlift/guards/source.h"
#include "symbolic/frame.h"
#include "symbolic/tracer.h"

namespace numlift::frame_eval {

struct ExceptionValue;
struct GeneratorBody;
struct Raised;

// What sys.exception() tells: frames share one with their caller, a generator has its own.
struct HandledException {
  Sym value;  // null: none of the trace's own
  HandledException* outer = nullptr;
};

// Generators that nothing refers to any more and that have not ended.
using AbandonedGenerators = std::vector<std::shared_ptr<GeneratorBody>>;

// The trace has come to Interpreter::stop_at.
struct StopTrace {
  std::vector<SuspendedFrame> frames;  // outermost first
  std::vector<Sym> values;             // of each frame
};

class Interpreter {
 public:
  explicit Interpreter(Tracer& tracer);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  Tracer& tracer;

  // Where the trace stops: before the instruction at which the clock shows this, with every frame
  // as it is there (StopTrace is thrown). A second trace of the same call is stopped where the
  // first one broke, or where something was made that cannot be handed to CPython, so that no
  // handler has to undo what it began.
  int64_t stop_at = -1;
  // The frame whose call instruction is being carried out and has run nothing else yet.
  Frame* direct_caller = nullptr;
  // Inside nonstrict_trace(): graph_break() does nothing.
  int nonstrict_depth = 0;
  // Functions under nonstrict_trace() that could not be traced into: each is one operation in the
  // traces of this call. Null: none may be added.
  std::set<const void*>* opaque = nullptr;

  // The call that is traced: `function` with its arguments bound already.
  Sym run_root(BorrowedRef function, const guards::CallInputs& inputs);
  // The rest of a call, behind a graph break.
  // Its last frame is called `name`.
  Sym run_suspended(const std::vector<SuspendedFrame>& frames, const std::string& name,
                    const guards::CallInputs& inputs);
  // Runs the frame until it comes to an instruction for which `stops` is true (null), or returns.
  // The first instruction runs in any case.
  Sym run_to(Frame& frame, const std::function<bool(size_t)>& stops);
  // How deep the interpreter is: kept and set back where an exception leaves some frames but not
  // all.
  struct Nesting {
    Frame* current = nullptr;
    int depth = 0;
    HandledException* handled = nullptr;
    Sym handled_value;
  };
  Nesting nesting() const;
  void set_nesting(const Nesting& nesting);
  // Loops and branches that the program runs; null: none are captured.
  class Regions* regions = nullptr;

  // Runs an inlined frame to its end.
  Sym run(Frame& frame);
  // Runs until the next yield (its value) or the return (frame.done; the returned value).
  // `thrown`: with this exception first, raised where the frame stands.
  Sym resume(Frame& frame, const Raised* thrown = nullptr);

  HandledException* handled = &outermost_handled_;
  // Null: what the caller of the traced call handles, if anything.
  Sym topmost_handled() const;
  // Generators run their finally blocks when they are dropped: at the end of the instruction.
  const std::shared_ptr<AbandonedGenerators> abandoned = std::make_shared<AbandonedGenerators>();
  void close_abandoned();
  // Some frame from this one up has a handler for what its present instruction raises.
  static bool has_handler(const Frame& frame);

  const Sym& none() const { return none_; }
  Sym boolean(bool value) const { return value ? true_ : false_; }
  Sym integer(int64_t value);
  Sym text(const std::string& value);
  Sym object(BorrowedRef object) { return tracer.constant(Ref::create(object)); }

  // A global of the frame's module, or the builtin when absent there.
  Sym load_global(const Frame& frame, BorrowedRef name);
  // What the traced code has set the global to (null: deleted); nullopt: it has not.
  std::optional<Sym> changed_global(BorrowedRef globals, BorrowedRef name) const;
  void change_global(BorrowedRef globals, BorrowedRef name, const Sym& value);
  // What the traced code has set the attribute of the class, or of the nearest one that it is
  // derived from, to; null: nothing, or a nearer class has its own.
  Sym changed_class_attribute(BorrowedRef cls, BorrowedRef name) const;
  void change_class_attribute(BorrowedRef cls, BorrowedRef name, const Sym& value);
  // The object as the owner of changes: one value for it.
  Sym object_value(BorrowedRef object);
  // The cells of an outside function: one symbolic cell per real cell. `source` null: the root.
  std::vector<std::shared_ptr<CellValue>> open_closure(BorrowedRef function,
                                                       const guards::SourcePtr& source);
  // Its content; throws Break when empty.
  Sym read_cell(CellValue& cell);

  // Guards what an iteration over an outside dict relies on: its keys and their order.
  void guard_key_order(const guards::SourcePtr& source, BorrowedRef dict);

  Frame* current_frame() const { return current_; }
  std::string location_text() const { return tracer.location_text(); }

 private:
  Sym run_instructions(Frame& frame, const Raised* thrown);
  Sym run_until_raise(Frame& frame, bool callers_handle);
  // The frame goes on in its handler; throws it where there is none.
  void unwind(Frame& frame, Raised raised);
  static void place_break(const Frame& frame, Break* reason);
  [[noreturn]] void stop(Frame& frame, size_t index);
  Sym run_chain(const std::vector<std::unique_ptr<Frame>>& frames, size_t first);
  Sym open_value(BorrowedRef object, const guards::SourcePtr& source);
  std::shared_ptr<CellValue> open_cell(BorrowedRef cell, const guards::SourcePtr& source,
                                       const guards::SourcePtr& content);
  void own_arguments(const std::vector<std::unique_ptr<Frame>>& frames);
  void release_dropped(const CallShape& effect);
  Sym open_keywords(BorrowedRef dict, const guards::SourcePtr& source);
  void locate(const Frame& innermost);

  struct OutsideCell {
    std::shared_ptr<CellValue> value;
    guards::SourcePtr source;
  };

  Sym none_, true_, false_;
  // Of a call that goes on behind a graph break: what the frames own, by argument. Null: released.
  std::vector<Sym> owned_arguments_;
  std::vector<uint32_t> release_order_;  // in which CPython lets go of them when all frames end
  std::unordered_map<PyObject*, OutsideCell> cells_;        // by real cell
  std::unordered_map<PyObject*, Sym> values_;               // of suspended frames, by real object
  std::map<std::pair<PyObject*, PyObject*>, Sym> globals_;  // by (dict, interned name)
  HandledException outermost_handled_;
  std::vector<std::weak_ptr<ExceptionValue>> raised_;  // they may refer to each other in a circle
  std::map<std::pair<PyObject*, PyObject*>, Sym> changed_globals_;  // null: deleted
  std::map<std::pair<PyObject*, PyObject*>, Sym> changed_classes_;
  std::map<PyObject*, Sym> object_values_;
  Frame* current_ = nullptr;
  int depth_ = 0;
  int64_t instructions_ = 0;
};

// ---- handlers of instructions, by family (handlers_*.cpp)
using InstructionHandler = void (*)(Interpreter&, Frame&, const Instruction&);
using HandlerTable = std::array<InstructionHandler, 256>;
void install_load_store(HandlerTable& table);
void install_arith(HandlerTable& table);
void install_names(HandlerTable& table);
void install_call(HandlerTable& table);
void install_build(HandlerTable& table);
void install_control(HandlerTable& table);
void install_match(HandlerTable& table);
void install_exception(HandlerTable& table);
void install_iter(HandlerTable& table);

std::string utf8_text(BorrowedRef text);
// The text itself, as the names in code are.
Ref interned_name(BorrowedRef text);

}  // namespace numlift::frame_eval
