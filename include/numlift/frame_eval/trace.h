// Tracing one call: bytecode in, graph and guards out. Changes nothing outside: a failed trace is
// invisible.
#pragma once

#include "numlift/py/python.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "numlift/frame_eval/resume_code.h"
#include "numlift/graph/graph.h"
#include "numlift/guards/guard.h"
#include "numlift/guards/source.h"
#include "numlift/py/ref.h"

namespace numlift::frame_eval {

// A run-time input of the program: an array, or a scalar (symbols of kind kInt name theirs too).
struct InputSpec {
  guards::SourcePtr source;
  enum class Kind : uint8_t {
    kArray,
    kNumpyScalar,
    kPyFloat,
    kPyComplex,
    kPyInt
  } kind = Kind::kArray;
  DType dtype = DType::kFloat64;
  bool stored_to = false;
};

// How the call's result is built from the program's outputs. Nodes refer to earlier nodes only, so
// that an object used twice is made once.
struct RecipeNode {
  enum class Kind : uint8_t {
    kOutput,    // Graph::outputs[index]
    kConstant,  // `object`
    kSource,    // what `source` reads at the time of the call
    kTuple,
    kList,
    kSet,
    kDict,        // of `children` (dict: key, value, key, value)
    kSlice,       // three children
    kNamedTuple,  // `object` is the class (a tuple subclass without state of its own)
    kCell,        // empty
    kFillCell,    // children: the cell, its content
    kFunction,    // `object` is the code; children: globals, then None or: defaults, keyword
                  // defaults, closure, annotations
    kGrownList,   // of `children`, and the elements of an array (the last child) behind them
    kRelease,     // argument `index` of the call is let go
    kCall,  // `object` called with the children (the last ones by keyword), then next() `index`
            // times, or __setstate__(place)
  };
  // kGrownList: what the elements become.
  enum class Items : uint8_t { kPython, kNumpy, kArrays };
  Kind kind = Kind::kConstant;
  Items items = Items::kPython;
  uint32_t index = 0;
  std::optional<int64_t> place{};  // kCall
  bool read_only = false;  // kOutput: the array's WRITEABLE flag is cleared before it is handed out
  // kOutput, views: strides in bytes as NumPy shows them. Axes of size 1 have them from here, as
  // the graph does not know what moves nothing.
  std::vector<SizeExpr> strides;
  Ref object;
  Ref keyword_names;  // kCall: tuple or null
  guards::SourcePtr source;
  std::vector<uint32_t> children;
};

// Built-in call of an extern node: callable, and where each argument comes from.
struct ExternRecipe {
  Ref callable;
  // Positional arguments first, then one per keyword name. Leaves: kOutput with index = position in
  // the extern node's operands; kConstant; containers of these.
  std::vector<RecipeNode> nodes;
  std::vector<uint32_t> arguments;
  Ref keyword_names;  // tuple or null
  // What the result was like in the trial call beside its arrays and scalars: each container's
  // exact type and length, and where None was. The run must find the same, or restart.
  struct ResultPart {
    std::vector<int> path;
    Ref type;
    int64_t length = -1;  // -1: no container
  };
  std::vector<ResultPart> result_parts;
  // The node of the random generator that the call draws from: a kSource or kConstant. Its state is
  // put back when the program restarts.
  std::optional<uint32_t> generator{};
};

// A frame of the user's at a break. A frame that was entered behind a graph break is called
// numlift_resume_in_<function>_at_<line>.
struct UserFrame {
  std::string file, function;
  Position position;
};

// The first line of `code`, where nothing finer is known.
UserFrame first_line_of(BorrowedRef code);

// Why something is left to CPython, for people.
struct BreakInfo {
  std::string category;               // id in break_reasons.def
  std::string reason;                 // what happened, with the names and types involved
  std::vector<UserFrame> user_stack;  // outermost first; never empty
  // Of the innermost error_on_graph_break() around the place that the trace has seen.
  std::optional<bool> is_error;

  const UserFrame& place() const { return user_stack.back(); }
};

// A loop that the program might have run itself, and does not.
struct LoopLeft {
  UserFrame place;  // its head
  std::string reason;
};

// A graph break: CPython runs the unit of instructions at which the last frame stands. The trace's
// results are the frames' values, outermost frame first.
struct TraceExit {
  BreakInfo info;
  std::vector<SuspendedFrame> frames;
};

struct TraceResult {
  Graph graph;
  std::vector<guards::Guard> guards;
  std::vector<InputSpec> inputs;
  std::vector<RecipeNode> recipe;
  std::vector<uint32_t> results;        // nodes of the recipe: what the call returns, or see `exit`
  std::vector<ExternRecipe> externs;    // by index into Graph::externs
  std::vector<std::string> operations;  // on arrays, as the user wrote them: "numpy.absolute"
  std::vector<SymbolId> dynamic_symbols;  // not to be fixed by dynamic=False
  std::optional<TraceExit> exit;          // null: the call returns
  std::vector<LoopLeft> loops_left;
};

struct TraceBreak {
  BreakInfo info;
  // What the way to the break relied on: as long as it holds, the call breaks in the same place.
  std::vector<guards::Guard> guards;
  std::vector<SizeGuard> size_guards;
  std::vector<Symbol> symbols;
  std::vector<InputSpec> inputs;
  std::vector<LoopLeft> loops_left;
};

// Where a trace begins: a call of `function` (a Python function) whose arguments are bound already,
// or, with `frames`, behind a graph break in such a call: the arguments are the frames' values.
struct TraceStart {
  BorrowedRef function;
  const std::vector<SuspendedFrame>* frames = nullptr;
  std::string name;          // with `frames`: what the last of them is called
  bool control_flow = true;  // whether the graph may have any: loops and branches of the program's
};
std::variant<TraceResult, TraceBreak> trace_call(const TraceStart& start,
                                                 const guards::CallInputs& inputs);

}  // namespace numlift::frame_eval
