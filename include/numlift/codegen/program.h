// A program: one compiled graph. What the host (numpy_shim) must prepare before a run, the one
// native function, and where the results are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "numlift/codegen/loop_nest.h"
#include "numlift/graph/graph.h"

namespace numlift::codegen {

// How a run ended. After kRestart nothing that the program wrote may be seen: the host undoes
// visible stores, and the call runs in CPython from its start. After kInterrupted (poll() said so)
// the arrays keep what the loop has stored so far. kSuspicious: a loop met a NaN or an infinity,
// and only code with NativeCode's precise checks can tell whether NumPy would warn; as kRestart,
// but the precise code runs next.
enum class ExitCode : int32_t { kReturn = 0, kRestart = 1, kInterrupted = 2, kSuspicious = 3 };

// Larger scratch of an iteration is allocated by the code that needs it, which is never inline.
inline constexpr int64_t kMostPrivateStackBytes = 16 * 1024;

struct Buffer {
  enum class Kind : uint8_t {
    kInput,    // memory of array input `input`
    kArray,    // a fresh NumPy array that the host allocates (result, extern operand)
    kScalar,   // room for one element in the frame (a NumPy or Python scalar result)
    kTemp,     // scratch of the program, not seen by Python: `slot`
    kLocal,    // one element that only the code in `program` itself touches: on its stack
    kPrivate,  // scratch of one iteration of the parallel root loop that uses it (each thread has
               // its own)
    kExtern,   // memory of the array that extern item `node` gave; the host fills in the pointer
  };
  Kind kind = Kind::kTemp;
  DType dtype = DType::kFloat64;
  std::vector<SizeExpr> dims;
  std::vector<SizeExpr> strides;  // in bytes, by axis
  AxisOrder order;                // kArray
  uint32_t input = 0;             // kInput
  NodeId node = kNoNode;          // the first version's node
  uint32_t slot = 0;        // kTemp: index into Program::temp_slot_bytes; disjoint lives share one
  SizeExpr bytes;           // kTemp, kPrivate
  bool stored_to = false;   // kInput: the program writes it
  bool needs_undo = false;  // ... and may restart after it has
  bool moves = false;       // swaps memory with others (SwapStep): a kTemp has its slot for itself
};

// How the host makes the Python object for a graph value (an output or an extern operand).
struct ValueRef {
  enum class Kind : uint8_t {
    kBufferArray,  // the array object of `buffer` itself (kArray, or kExtern: the object it gave)
    kInputObject,  // the caller's own object, input `input`
    kView,         // a new view: base object of `buffer`, `offset`, `dims`, `strides` (bytes)
    kNumpyScalar,  // NumPy scalar from `buffer` (kScalar) at offset 0
    kPyScalar,     // Python bool, int, float or complex from `buffer`
    kSize,         // Python int of value `size`
    kObject,       // the object that extern node `node` gave
  };
  Kind kind = Kind::kBufferArray;
  BufferId buffer{};
  uint32_t input = 0;
  NodeId node = kNoNode;
  DType dtype = DType::kFloat64;  // kView (differs from the buffer's for real/imag parts)
  SizeExpr offset;
  std::vector<SizeExpr> dims, strides;
  SizeExpr size;
};

// Steps in order. The native function runs them all; the host needs ExternStep to answer the
// callback.
struct NestStep {
  LoopNest nest;
  // Emitted into `program` itself: no function of its own, no parallel loops, no private buffers.
  bool is_inline = false;
};
struct ExternStep {
  NodeId node = kNoNode;  // the Extern node
  uint32_t call = 0;      // index into Graph::externs
  std::vector<ValueRef> operands;
  // ExternItem nodes that read it, in node order, each with its buffer when it is an array or
  // scalar. The host checks type, dtype and rank against the node's type (else kRestart), sets the
  // data pointer, and fills the kExternDim symbols of the item; strides must be those of the buffer
  // (the host may copy an array that should be C contiguous and is not, or restart).
  std::vector<std::pair<NodeId, BufferId>> items;
};
// One run of a NumPy inner loop: `count` times, the arguments (the result last) moving by their
// step from one to the next; of a generalized ufunc's over core axes of these sizes and strides.
struct NumpyLoopStep {
  struct Argument {
    BufferId buffer{};
    SizeExpr offset, step;               // bytes
    std::vector<SizeExpr> core_strides;  // bytes
  };
  uint32_t loop = 0;  // index into Graph::loops
  std::vector<Argument> arguments;
  SizeExpr count;
  std::vector<SizeExpr> core_dims;  // by number
  uint8_t fp_checks = 0;
};
// `buffer` is allocated now: its size is not known before the run, or every iteration of a loop
// needs a fresh array. The host drops what the buffer had from an earlier iteration.
struct AllocateStep {
  BufferId buffer{};
};

// Control flow, as in the graph: what lies between a begin and its EndStep is a region. `node` is
// the begin's node.
struct LoopStep {
  NodeId node = kNoNode;
  SymbolId counter{};
  std::optional<SizeExpr> trips;
  bool polls = false;  // asks the host at its back edge whether to go on
};
struct IfStep {
  NodeId node = kNoNode;
  BufferId condition{};
};
struct ElseStep {};
struct BlockStep {
  NodeId node = kNoNode;
};
struct EndStep {};
struct JumpStep {
  NodeId target = kNoNode;  // a begin of an open region
  bool again = false;       // goes on with the target's next iteration, else behind its end
};
// All values are read before any symbol changes.
struct AssignStep {
  struct Assignment {
    SymbolId symbol{};
    std::optional<BufferId> buffer;  // an int64 of rank 0; none: `size`
    SizeExpr size;
  };
  std::vector<Assignment> assignments;
};
struct CheckStep {
  BufferId condition{};
};
// In place of a copy from one to the other, whose old contents nobody reads any more: both change
// their memory, which is of one size. The host finds the new addresses in the frame.
struct SwapStep {
  BufferId first{}, second{};
};

using Step = std::variant<NestStep, ExternStep, NumpyLoopStep, AllocateStep, LoopStep, IfStep,
                          ElseStep, BlockStep, EndStep, JumpStep, AssignStep, CheckStep, SwapStep>;

struct Program {
  Graph graph;                  // after the passes
  std::vector<Buffer> buffers;  // by BufferId
  std::vector<SizeExpr> temp_slot_bytes;
  std::vector<bool> allocate_late;  // by BufferId: by AllocateStep, not before the run
  std::vector<bool> grown_slots;    // by slot: of such a buffer, which has the slot for itself
  // By SymbolId: set while the program runs, and read from the frame by the host or by code outside
  // `program`.
  std::vector<bool> shared_symbols;
  std::vector<Step> steps;
  std::vector<ValueRef> outputs;  // by position in Graph::outputs
  bool may_restart = false;       // has floating-point checks, externs, casts that may fail
  int kernel_count = 0;
};

// ---------------------------------------------------------------- run time

struct ScalarSlot {
  alignas(16) unsigned char bytes[16];
};

struct RuntimeCallbacks {
  // Both return 0, or 1 when the program must stop with kRestart.
  int32_t (*extern_call)(void* context, uint32_t step);
  int32_t (*allocate)(void* context, uint32_t buffer);
  // Around long kernels, when the caller holds the GIL.
  void* (*release_gil)(void* context);
  void (*acquire_gil)(void* context, void* state);
  // Of a kTemp: memory of at least `bytes` for it from here on, its contents need not stay.
  int32_t (*grow)(void* context, uint32_t buffer, int64_t bytes);
  // Now and then in long loops: other threads may run. Not 0: the program must stop with
  // kInterrupted.
  int32_t (*poll)(void* context);
};

// What the native function gets. `buffers` has an entry for every Buffer (kPrivate, kLocal: null).
struct ProgramFrame {
  int64_t* symbols;
  char** buffers;
  const ScalarSlot* scalars;  // by input index
  void* context;
  const RuntimeCallbacks* callbacks;
};
using ProgramFunction = int32_t (*)(ProgramFrame*);

// Machine code of one program; the code is freed with it.
class NativeCode {
 public:
  virtual ~NativeCode() = default;
  virtual ProgramFunction function() const = 0;
  virtual size_t code_size_bytes() const = 0;
  virtual std::string ir_text() const = 0;  // after optimisation; kept only when it was asked for
};

}  // namespace numlift::codegen
