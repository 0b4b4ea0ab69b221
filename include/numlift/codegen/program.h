// A program: one compiled graph. What the host (numpy_shim) must prepare before a run, the one
// native function, and where the results are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "numlift/codegen/loop_nest.h"
#include "numlift/graph/graph.h"

namespace numlift::codegen {

// How a run ended. After kRestart and kError nothing that the program wrote may be seen: the host
// undoes visible stores; kRestart: the call runs in CPython from its start.
enum class ExitCode : int32_t { kReturn = 0, kRestart = 1 };

struct Buffer {
  enum class Kind : uint8_t {
    kInput,    // memory of array input `input`
    kArray,    // a fresh NumPy array that the host allocates (result, extern operand)
    kScalar,   // room for one element in the frame (a NumPy or Python scalar result)
    kTemp,     // scratch of the program, not seen by Python: `slot`
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
// One of NumPy's inner loops over whole buffers: C contiguous operands and result of one size.
struct NumpyLoopStep {
  uint32_t loop = 0;  // index into Graph::loops
  std::vector<BufferId> operands;
  std::vector<int64_t> operand_steps;  // bytes; 0 for a rank-0 operand
  BufferId result{};
  SizeExpr count;
  uint8_t fp_checks = 0;
};
// The host allocates `buffer` now (its size depends on an extern's result).
struct AllocateStep {
  BufferId buffer{};
};
using Step = std::variant<NestStep, ExternStep, NumpyLoopStep, AllocateStep>;

struct Program {
  Graph graph;                  // after the passes
  std::vector<Buffer> buffers;  // by BufferId
  std::vector<SizeExpr> temp_slot_bytes;
  std::vector<bool> allocate_late;  // by BufferId: by AllocateStep, not before the run
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
};

// What the native function gets. `buffers` has an entry for every Buffer (kPrivate: null).
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
