// A frame while it is traced: bytecode, slots, stack. Root and inlined frames are alike.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolic/value.h"

namespace numlift::frame_eval {

struct LoopTrips {
  int64_t count = 0;
  int64_t began = 0;  // the clock at the head, the first time
  size_t nodes = 0;   // the graph's then
};

struct Frame {
  Frame() = default;
  ~Frame() { drop_values(); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  std::shared_ptr<const Bytecode> bytecode;
  Ref globals;  // dict
  std::string file, name;
  std::string resume_name;  // of a frame that is entered behind a graph break; else empty
  // By slot: locals, cells, free variables. Null: unset.
  std::vector<Sym> slots;
  std::vector<std::shared_ptr<CellValue>> closure;
  std::shared_ptr<DictValue> names;  // of a class body: its namespace; else null
  std::vector<Sym> stack;
  Ref keyword_names;  // for the next Call
  // The stack and those names as they were before the present instruction, where a handler waits
  // for what it may raise.
  std::vector<Sym> operands;
  size_t operands_graph_size = 0, operands_effects = 0;  // of the trace then
  Ref operand_names;
  size_t next = 0;    // index of the instruction that runs next
  bool done = false;  // it has returned
  // A path through the frame ends before such an instruction (Interpreter::run_to). Null: nowhere.
  const std::function<bool(size_t)>* stops = nullptr;
  bool enters_path = false;                     // its first instruction runs in any case
  Sym returned;                                 // by all paths that met: the frame ends with it
  std::unordered_map<size_t, LoopTrips> trips;  // of running loops, by the place of their head

  Frame* caller = nullptr;
  bool is_polyfill = false;  // of numlift's own Python code: nobody sees it
  bool is_direct = false;  // a call instruction of `caller` waits for what it returns, and no more
  // The instruction that runs (with its keyword names: the first of both), and when it began.
  size_t unit = 0;
  int64_t unit_clock = 0;

  void push(Sym value) { stack.push_back(std::move(value)); }
  Sym pop();
  // depth 1 is the top.
  Sym& peek(int depth = 1);
  // The `count` values on top, in the order they were pushed.
  std::vector<Sym> pop_many(int count);
  // At the end of the frame: what goes with them goes in CPython's order.
  void drop_values();
};

// Behind a ForIter whose iterator is exhausted.
void end_for(Frame& frame, const Instruction& for_iter);

// Once more around the loop that is known by this place. Throws Break when it is not to be unrolled
// any further: the trace then ends where the loop began, so that none of it is in the graph.
void count_trip(Frame& frame, size_t place, size_t graph_nodes);

// What stands where CPython has NULL on the stack. One object.
const Sym& null_value();
inline bool is_null(const Sym& value) { return value->kind == SymKind::kNull; }

struct CallArguments {
  std::vector<Sym> positional;
  std::vector<std::pair<Ref, Sym>> keywords;
};

// What a call of a Python function needs to know of it.
struct FunctionParts {
  Ref code, globals;
  std::vector<std::shared_ptr<CellValue>> closure;
  std::vector<Sym> defaults;
  std::vector<std::pair<Ref, Sym>> kwdefaults;
};

// A frame with the arguments bound as Python binds them. Throws Break when Python would raise.
std::unique_ptr<Frame> make_frame(const FunctionParts& function, CallArguments arguments);
// A frame with unset slots.
std::unique_ptr<Frame> make_empty_frame(BorrowedRef code, Ref globals,
                                        std::vector<std::shared_ptr<CellValue>> closure);

}  // namespace numlift::frame_eval
