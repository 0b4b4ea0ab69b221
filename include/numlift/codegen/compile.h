// Graph in, program out: the only way from graph/ to the folders of code generation.
#pragma once

#include <memory>
#include <string>

#include "numlift/codegen/cuda.h"
#include "numlift/codegen/program.h"
#include "numlift/graph/graph.h"
#include "numlift/support/result.h"

namespace numlift::codegen {

// Groups the graph's nodes into loop nests, plans buffers, decides loop order and parallel loops.
// `graph` is verified and has been through the passes.
Program schedule(Graph graph);

// How the loops of a program (LoopStep) look for floating-point conditions.
enum class LoopChecks : uint8_t {
  kOnce,     // at their ends, for any value that is not finite: kSuspicious
  kPrecise,  // at every operation: kRestart when NumPy would warn
};
// LLVM code for a scheduled program. Thread safe. keep_ir: NativeCode::ir_text is filled.
std::unique_ptr<NativeCode> emit_native(const Program& program, bool keep_ir,
                                        LoopChecks checks = LoopChecks::kOnce);

struct CompiledProgram {
  Program program;
  std::unique_ptr<NativeCode> code;     // null: for the device
  std::unique_ptr<CudaProgram> device;  // null: for the host
  std::string nests_text, ir_text;      // filled when the output_code log or a dump is on
  double schedule_ms = 0, emit_ms = 0;
};
enum class Target : uint8_t { kHost, kCuda };
// Passes, schedule, code; logs output_code and dumps stages when these are on.
std::unique_ptr<CompiledProgram> compile_graph(Graph graph, Target target = Target::kHost);

// Loads LLVM's target and the OpenMP run time; called once, before the first compilation.
void initialize_native();
void set_num_threads(int count);
int get_num_threads();

}  // namespace numlift::codegen
