// compile_graph: passes, schedule, native code, with what the logs and dumps show of each.
#include "numlift/codegen/compile.h"

#include <fmt/format.h>

#include <chrono>

#include "numlift/codegen/disk_cache.h"
#include "numlift/graph/pass.h"
#include "numlift/graph/text.h"
#include "numlift/support/log.h"
#include "numlift/support/options.h"
#include "schedule/print.h"

namespace numlift::codegen {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void show(const CompiledProgram& compiled) {
  const std::string& name = compiled.program.graph.name;
  if (log_enabled(LogChannel::output_code)) {
    log(LogChannel::output_code,
        fmt::format("{}: {} kernels\n{}\n{}", name, compiled.program.kernel_count,
                    compiled.nests_text, compiled.ir_text));
  }
  dump_stage(name, "nests", compiled.nests_text);
  dump_stage(name, compiled.device ? "cu" : "ll", compiled.ir_text);
  if (compiled.device || !options().cuda_dryrun) return;
  const std::string kernels = cuda_kernels_text(compiled.program);
  log(LogChannel::output_code, fmt::format("{}: as CUDA C++\n{}", name, kernels));
  dump_stage(name, "cu", kernels);
}

}  // namespace

std::unique_ptr<CompiledProgram> compile_graph(Graph graph, Target target) {
  const bool keep_text = log_enabled(LogChannel::output_code) || dump_enabled();
  auto compiled = std::make_unique<CompiledProgram>();

  auto start = std::chrono::steady_clock::now();
  run_default_passes(&graph);
  const double passes_ms = milliseconds_since(start);

  start = std::chrono::steady_clock::now();
  compiled->program = schedule(std::move(graph));
  compiled->schedule_ms = milliseconds_since(start);

  start = std::chrono::steady_clock::now();
  if (target == Target::kCuda)
    compiled->device = make_cuda_program(compiled->program);
  else
    compiled->code = emit_native(compiled->program, keep_text);
  compiled->emit_ms = milliseconds_since(start);

  if (keep_text) {
    compiled->nests_text = program_text(compiled->program);
    compiled->ir_text =
        compiled->device ? cuda_kernels_text(compiled->program) : compiled->code->ir_text();
    show(*compiled);
  }
  if (log_enabled(LogChannel::timing)) {
    log(LogChannel::timing,
        fmt::format(
            "{}: passes {:.2f} ms, schedule {:.2f} ms, native code {:.2f} ms{}",
            compiled->program.graph.name, passes_ms, compiled->schedule_ms, compiled->emit_ms,
            compiled->code && is_from_disk(*compiled->code) ? ", loaded from the disk cache" : ""));
  }
  return compiled;
}

}  // namespace numlift::codegen
