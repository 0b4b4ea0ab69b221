// A program whose nests run on the device: compiled once, then its steps are carried out one by
// one.
//
// Kernels only note that the program must restart (status). The host looks before anything that
// cannot be undone, that is before each call out and at the end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "cache/disk_cache.h"
#include "cpu/digest.h"
#include "device_buffers.h"
#include "numlift/codegen/compile.h"
#include "numlift/codegen/cuda.h"
#include "numlift/support/check.h"
#include "numlift/support/log.h"
#include "nvrtc.h"
#include "print_program.h"
#include "schedule/step_regions.h"

namespace numlift::codegen {
namespace cuda {
namespace {

constexpr int64_t kBlocksPerMultiprocessor = 16;
constexpr int64_t kMostPrivateBytes = int64_t{1} << 28;
constexpr auto kPollInterval = std::chrono::milliseconds(5);

std::string place_of(const Graph& graph, uint32_t location) {
  const SourceLocation& source = graph.locations[location];
  if (location == 0 || source.line == 0) return "";
  return fmt::format("\n  at {}:{} in {}", source.file, source.line, source.function);
}

class DeviceProgram final : public CudaProgram {
 public:
  explicit DeviceProgram(const Program& program);
  ~DeviceProgram() override;
  ExitCode run(ProgramFrame* frame) override;
  std::string source() const override { return kernels_.source(); }

 private:
  friend class ProgramRun;
  void load_module();
  // Machine code of one step, or of the whole program, for the host.
  ProgramFunction host_code(const Step* step);

  const Program& program_;
  Device& device_;
  ProgramKernels kernels_;
  Module module_ = nullptr;
  std::vector<std::vector<Function>> functions_;  // by step
  std::vector<size_t> ends_;
  bool is_for_host_ = false;
  std::mutex mutex_;
  std::map<const Step*, std::unique_ptr<NativeCode>> host_codes_;
};

// Externs that are not pure may change or give away any memory; together with stores to it the
// copies on the device could not be kept true.
bool shares_memory_with_python(const Program& program) {
  const bool stores = std::any_of(program.buffers.begin(), program.buffers.end(),
                                  [](const Buffer& buffer) { return buffer.stored_to; });
  return stores && std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
           const auto* call = std::get_if<ExternStep>(&step);
           return call != nullptr && !program.graph.externs[call->call].pure;
         });
}

void hint(const Program& program, const std::string& text) {
  if (log_enabled(LogChannel::perf_hints))
    log(LogChannel::perf_hints, fmt::format("{}: {}", program.graph.name, text));
}

DeviceProgram::DeviceProgram(const Program& program)
    : program_(program),
      device_(device()),
      kernels_(print_program(program)),
      ends_(find_ends(program.steps)),
      is_for_host_(shares_memory_with_python(program)) {
  if (is_for_host_) {
    hint(program,
         "runs on the host: it stores to arrays and calls out, and both could share memory");
    return;
  }
  for (const Step& step : program.steps)
    if (const auto* loop = std::get_if<NumpyLoopStep>(&step))
      hint(program, fmt::format("{} runs on the host, its operands are copied there",
                                program.graph.loops[loop->loop].name));
  functions_.resize(program.steps.size());
  if (kernels_.kernel_count == 0) return;
  load_module();
  const DriverTable& table = device_.table();
  for (size_t i = 0; i < program.steps.size(); ++i) {
    for (const Kernel& kernel : kernels_.steps[i].kernels) {
      Function function = nullptr;
      check_driver(table, table.find_function(&function, module_, kernel.name.c_str()),
                   "cuModuleGetFunction");
      functions_[i].push_back(function);
    }
  }
}

// The text without the user's lines, which are comments: the code does not hang on them.
std::string without_comments(const std::string& source) {
  std::string code;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size() - 1) + 1;
    const size_t first = source.find_first_not_of(' ', at);
    if (source.compare(first, 2, "//") != 0) code += source.substr(at, end - at);
    at = end;
  }
  return code;
}

void DeviceProgram::load_module() {
  const DriverTable& table = device_.table();
  device_.make_current();
  const std::string source = kernels_.source();
  const cpu::Digest key = cpu::digest_of(
      {"cuda", without_comments(source), nvrtc_identity(), std::to_string(device_.arch())});
  if (const auto kept = cache::find_object(key)) {
    if (table.load_module(&module_, kept->data()) == 0) return;
    cache::refuse_object(key, "the driver refuses it");
  }
  const auto image = compile_cuda(source, program_.graph.name, device_.arch());
  if (!image) throw CudaError(CudaError::Kind::kOther, image.error());
  check_driver(table, table.load_module(&module_, image->cubin.data()), "cuModuleLoadData");
  cache::keep_object(key, image->cubin);
}

DeviceProgram::~DeviceProgram() {
  if (module_ != nullptr) device_.table().unload_module(module_);
}

ProgramFunction DeviceProgram::host_code(const Step* step) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<NativeCode>& code = host_codes_[step];
  if (code == nullptr && step == nullptr) {
    code = emit_native(program_, false, LoopChecks::kPrecise);
  } else if (code == nullptr) {
    Program one = program_;
    one.steps = {*step};
    // What the program keeps on its stack is memory between steps here.
    for (Buffer& buffer : one.buffers)
      if (buffer.kind == Buffer::Kind::kLocal) buffer.kind = Buffer::Kind::kScalar;
    // … and what it counts and assigns has its value from outside.
    for (Symbol& symbol : one.graph.symbols)
      if (symbol.kind == SymbolKind::kRun) symbol.kind = SymbolKind::kInt;
    code = emit_native(one, false, LoopChecks::kPrecise);
  }
  return code->function();
}

// One run: thrown away at its end.
class ProgramRun {
 public:
  ProgramRun(DeviceProgram& code, ProgramFrame* frame)
      : code_(code),
        program_(code.program_),
        device_(code.device_),
        frame_(frame),
        buffers_(code.device_, code.program_, frame) {}
  ~ProgramRun() {
    for (DevicePointer block : {status_, scratch_}) release(block);
  }
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  bool are_inputs_aligned() const { return buffers_.are_inputs_aligned(); }
  ExitCode run();

 private:
  enum class Next : uint8_t { kStep, kJumped, kRestart, kInterrupted };
  Next perform(const Step& step, size_t index);
  Next on(const NestStep& step, size_t index);
  Next on(const NumpyLoopStep& step, size_t index);
  Next on(const ExternStep& step, size_t index);
  Next on(const AllocateStep& step, size_t index);
  Next on(const LoopStep& step, size_t index);
  Next on(const IfStep& step, size_t index);
  Next on(const ElseStep& step, size_t index);
  Next on(const BlockStep& step, size_t index);
  Next on(const EndStep& step, size_t index);
  Next on(const JumpStep& step, size_t index);
  Next on(const AssignStep& step, size_t index);
  Next on(const CheckStep& step, size_t index);
  Next on(const SwapStep& step, size_t index);

  struct Open {
    size_t begin;
    int64_t counter = 0;
    std::optional<int64_t> trips;
  };
  Next go_to(size_t step) {
    at_ = step;
    return Next::kJumped;
  }
  Next next_iteration();
  int64_t blocks_of(const Kernel& kernel) const;
  void launch(const Kernel& kernel, Function function, const NestKernels& nest);
  bool must_restart();
  Next poll();
  void release(DevicePointer block) {
    if (block != 0) device_.memory().release(block);
  }

  DeviceProgram& code_;
  const Program& program_;
  Device& device_;
  ProgramFrame* frame_;
  DeviceBuffers buffers_;
  std::vector<Open> open_;
  size_t at_ = 0;
  uint32_t location_ = 0;
  DevicePointer status_ = 0;
  bool has_reported_ = false;  // kernels ran since the status was looked at
  DevicePointer scratch_ = 0;
  int64_t scratch_bytes_ = 0;
  int64_t partials_ = 0;
  std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

ExitCode ProgramRun::run() {
  try {
    while (at_ < program_.steps.size()) {
      const size_t index = at_;
      switch (perform(program_.steps[index], index)) {
        case Next::kStep:
          at_ = index + 1;
          break;
        case Next::kJumped:
          break;
        case Next::kRestart:
          return ExitCode::kRestart;
        case Next::kInterrupted:
          return buffers_.all_visible_on_host() ? ExitCode::kInterrupted : ExitCode::kRestart;
      }
    }
    if (must_restart() || !buffers_.all_visible_on_host()) return ExitCode::kRestart;
    return ExitCode::kReturn;
  } catch (const CudaError& error) {
    throw CudaError(error.kind(), error.what() + place_of(program_.graph, location_));
  }
}

ProgramRun::Next ProgramRun::perform(const Step& step, size_t index) {
  return std::visit([&](const auto& one) { return on(one, index); }, step);
}

bool ProgramRun::must_restart() {
  if (!has_reported_) return false;
  has_reported_ = false;
  int32_t status = 0;
  device_.download(&status, status_, sizeof status);
  return status != 0;
}

// How many blocks the kernel's iterations are worth; 0: it has none.
int64_t ProgramRun::blocks_of(const Kernel& kernel) const {
  const int64_t iterations = buffers_.size(kernel.iterations);
  const int64_t most = kBlocksPerMultiprocessor * device_.multiprocessors();
  switch (kernel.shape) {
    case Kernel::Shape::kThreads:
      return std::min((iterations + kBlockThreads - 1) / kBlockThreads, most);
    case Kernel::Shape::kBlocks:
      return std::min(iterations, most);
    case Kernel::Shape::kPartials:
      return std::clamp<int64_t>((iterations + kIterationsPerPartial - 1) / kIterationsPerPartial,
                                 1, kMostPartials);
    case Kernel::Shape::kOneBlock:
    case Kernel::Shape::kOneThread:
      return 1;
  }
  NUMLIFT_UNREACHABLE();
}

void ProgramRun::launch(const Kernel& kernel, Function function, const NestKernels& nest) {
  int64_t grid = blocks_of(kernel);
  const int64_t threads = kernel.shape == Kernel::Shape::kOneThread ? 1 : kBlockThreads;
  // Without iterations there may still be something to report: scalars are computed before the
  // loop.
  const bool reports = std::any_of(kernel.parameters.begin(), kernel.parameters.end(),
                                   [](const KernelParameter& parameter) {
                                     return parameter.kind == KernelParameter::Kind::kStatus;
                                   });
  if (grid <= 0 && !reports) return;
  grid = std::max<int64_t>(grid, 1);
  const bool by_thread =
      kernel.shape == Kernel::Shape::kThreads || kernel.shape == Kernel::Shape::kPartials;
  std::vector<DevicePointer> privates;
  const auto private_bytes = [&](uint32_t buffer) {
    return (buffers_.size(program_.buffers[buffer].bytes) + 15) / 16 * 16 *
           (by_thread ? kBlockThreads : 1);
  };
  for (const KernelParameter& parameter : kernel.parameters)
    if (parameter.kind == KernelParameter::Kind::kPrivate)
      grid = std::clamp<int64_t>(
          kMostPrivateBytes / std::max<int64_t>(private_bytes(parameter.index), 1), 1, grid);
  // How many parts a reduction has hangs on sizes alone, as its result hangs on it.
  if (kernel.shape == Kernel::Shape::kPartials) partials_ = grid;

  std::vector<char> packed;
  const auto pack = [&](const void* value, size_t bytes) {
    const size_t at = packed.size();
    packed.resize(at + std::max<size_t>(bytes, 8), '\0');
    std::memcpy(packed.data() + at, value, bytes);
  };
  const auto pack_number = [&](auto value) { pack(&value, sizeof value); };
  for (const KernelParameter& parameter : kernel.parameters) {
    switch (parameter.kind) {
      case KernelParameter::Kind::kBuffer:
        pack_number(buffers_.on_device(BufferId{parameter.index}));
        break;
      case KernelParameter::Kind::kPrivate:
        privates.push_back(
            device_.memory().allocate(static_cast<size_t>(private_bytes(parameter.index) * grid)));
        pack_number(privates.back());
        break;
      case KernelParameter::Kind::kSymbol:
        pack_number(frame_->symbols[parameter.index]);
        break;
      case KernelParameter::Kind::kScalar:
        pack(frame_->scalars[parameter.index].bytes,
             static_cast<size_t>(item_size(parameter.dtype)));
        break;
      case KernelParameter::Kind::kScratch:
        if (scratch_bytes_ < nest.scratch_bytes) {
          release(scratch_);
          scratch_ = 0;
          scratch_ = device_.memory().allocate(static_cast<size_t>(nest.scratch_bytes));
          scratch_bytes_ = nest.scratch_bytes;
        }
        pack_number(scratch_);
        break;
      case KernelParameter::Kind::kPartials:
        pack_number(partials_);
        break;
      case KernelParameter::Kind::kStatus:
        if (status_ == 0) {
          status_ = device_.memory().allocate(sizeof(int32_t));
          check_driver(device_.table(),
                       device_.table().fill(status_, 0, sizeof(int32_t), device_.stream()),
                       "cuMemsetD8Async");
        }
        has_reported_ = true;
        pack_number(status_);
        break;
    }
  }
  for (const KernelParameter& parameter : kernel.parameters)
    if (parameter.kind == KernelParameter::Kind::kBuffer &&
        std::find(nest.written.begin(), nest.written.end(), BufferId{parameter.index}) !=
            nest.written.end())
      buffers_.written_on_device(BufferId{parameter.index});
  void* arguments[] = {packed.data()};
  const int error = device_.table().launch(function, static_cast<unsigned>(grid), 1, 1,
                                           static_cast<unsigned>(threads), 1, 1, 0,
                                           device_.stream(), arguments, nullptr);
  for (DevicePointer block : privates) device_.memory().release(block);
  check_driver(device_.table(), error, "cuLaunchKernel");
}

ProgramRun::Next ProgramRun::on(const NestStep&, size_t index) {
  const NestKernels& nest = code_.kernels_.steps[index];
  location_ = nest.location;
  for (size_t k = 0; k < nest.kernels.size(); ++k)
    launch(nest.kernels[k], code_.functions_[index][k], nest);
  return Next::kStep;
}

// On the host, with copies there and, when they are read on the device next, back.
ProgramRun::Next ProgramRun::on(const NumpyLoopStep& step, size_t index) {
  for (const NumpyLoopStep::Argument& argument : step.arguments)
    if (!buffers_.on_host(argument.buffer)) return Next::kRestart;
  if (code_.host_code(&program_.steps[index])(frame_) != 0) return Next::kRestart;
  buffers_.written_on_host(step.arguments.back().buffer);
  return Next::kStep;
}

ProgramRun::Next ProgramRun::on(const ExternStep& step, size_t index) {
  location_ = program_.graph.node(step.node).location;
  if (must_restart()) return Next::kRestart;
  const bool pure = program_.graph.externs[step.call].pure;
  for (const ValueRef& operand : step.operands) {
    const bool is_memory = operand.kind != ValueRef::Kind::kSize &&
                           operand.kind != ValueRef::Kind::kObject &&
                           operand.kind != ValueRef::Kind::kInputObject;
    if (is_memory && !buffers_.on_host(operand.buffer)) return Next::kRestart;
    if (operand.kind != ValueRef::Kind::kInputObject) continue;
    for (uint32_t b = 0; b < program_.buffers.size(); ++b)
      if (program_.buffers[b].kind == Buffer::Kind::kInput &&
          program_.buffers[b].input == operand.input && !buffers_.on_host(BufferId{b}))
        return Next::kRestart;
  }
  if (!pure && !buffers_.all_visible_on_host()) return Next::kRestart;
  if (frame_->callbacks->extern_call(frame_->context, static_cast<uint32_t>(index)) != 0)
    return Next::kRestart;
  device_.make_current();
  if (!pure) buffers_.forget_visible_on_device();
  for (const auto& [node, buffer] : step.items) {
    const ValueKind kind = program_.graph.node(node).type.value_kind;
    if (kind != ValueKind::kObject) buffers_.replaced_on_host(buffer);
  }
  return Next::kStep;
}

ProgramRun::Next ProgramRun::on(const AllocateStep& step, size_t) {
  return buffers_.allocate(step.buffer) ? Next::kStep : Next::kRestart;
}

ProgramRun::Next ProgramRun::on(const SwapStep& step, size_t) {
  buffers_.swap(step.first, step.second);
  return Next::kStep;
}

ProgramRun::Next ProgramRun::on(const LoopStep& step, size_t index) {
  Open loop{index, 0, std::nullopt};
  if (step.trips) loop.trips = buffers_.size(*step.trips);
  if (loop.trips && *loop.trips <= 0) return go_to(code_.ends_[index] + 1);
  frame_->symbols[static_cast<uint32_t>(step.counter)] = 0;
  open_.push_back(loop);
  return Next::kStep;
}

// Behind the end of the innermost open loop, or at its body again.
ProgramRun::Next ProgramRun::next_iteration() {
  Open& loop = open_.back();
  const auto& step = std::get<LoopStep>(program_.steps[loop.begin]);
  const Next polled = poll();
  if (polled != Next::kStep) return polled;
  const size_t begin = loop.begin;
  if (++loop.counter; loop.trips && loop.counter >= *loop.trips) {
    open_.pop_back();
    return go_to(code_.ends_[begin] + 1);
  }
  frame_->symbols[static_cast<uint32_t>(step.counter)] = loop.counter;
  return go_to(begin + 1);
}

// Signal handlers and other threads run; a NaN may keep the loop from ending.
ProgramRun::Next ProgramRun::poll() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_poll_ < kPollInterval) return Next::kStep;
  last_poll_ = now;
  if (must_restart()) return Next::kRestart;
  return frame_->callbacks->poll(frame_->context) != 0 ? Next::kInterrupted : Next::kStep;
}

ProgramRun::Next ProgramRun::on(const IfStep& step, size_t index) {
  bool condition = false;
  if (!buffers_.read(step.condition, &condition)) return Next::kRestart;
  open_.push_back({index, 0, std::nullopt});
  if (condition) return Next::kStep;
  // To its else, if it has one.
  size_t depth = 0;
  for (size_t i = index + 1; i < code_.ends_[index]; ++i) {
    if (begun_by(program_.steps[i]) != kNoNode) ++depth;
    if (std::holds_alternative<EndStep>(program_.steps[i])) --depth;
    if (depth == 0 && std::holds_alternative<ElseStep>(program_.steps[i])) return go_to(i + 1);
  }
  return go_to(code_.ends_[index]);
}

ProgramRun::Next ProgramRun::on(const BlockStep&, size_t index) {
  open_.push_back({index, 0, std::nullopt});
  return Next::kStep;
}

// The end of the first arm.
ProgramRun::Next ProgramRun::on(const ElseStep&, size_t) {
  return go_to(code_.ends_[open_.back().begin]);
}

ProgramRun::Next ProgramRun::on(const EndStep&, size_t) {
  if (std::holds_alternative<LoopStep>(program_.steps[open_.back().begin])) return next_iteration();
  open_.pop_back();
  return Next::kStep;
}

ProgramRun::Next ProgramRun::on(const JumpStep& step, size_t) {
  while (begun_by(program_.steps[open_.back().begin]) != step.target) open_.pop_back();
  if (step.again) return next_iteration();
  const size_t begin = open_.back().begin;
  open_.pop_back();
  return go_to(code_.ends_[begin] + 1);
}

ProgramRun::Next ProgramRun::on(const AssignStep& step, size_t) {
  std::vector<int64_t> values;
  for (const AssignStep::Assignment& one : step.assignments) {
    int64_t value = 0;
    if (!one.buffer)
      value = buffers_.size(one.size);
    else if (!buffers_.read(*one.buffer, &value))
      return Next::kRestart;
    values.push_back(value);
  }
  for (size_t i = 0; i < values.size(); ++i)
    frame_->symbols[static_cast<uint32_t>(step.assignments[i].symbol)] = values[i];
  return Next::kStep;
}

ProgramRun::Next ProgramRun::on(const CheckStep& step, size_t) {
  bool condition = false;
  if (!buffers_.read(step.condition, &condition)) return Next::kRestart;
  return condition ? Next::kStep : Next::kRestart;
}

ExitCode DeviceProgram::run(ProgramFrame* frame) {
  if (is_for_host_) return static_cast<ExitCode>(host_code(nullptr)(frame));
  device_.make_current();
  {
    ProgramRun run(*this, frame);
    if (run.are_inputs_aligned()) return run.run();
  }
  hint(program_, "runs on the host this time: an array's elements are not aligned");
  return static_cast<ExitCode>(host_code(nullptr)(frame));
}

}  // namespace
}  // namespace cuda

std::unique_ptr<CudaProgram> make_cuda_program(const Program& program) {
  return std::make_unique<cuda::DeviceProgram>(program);
}

}  // namespace numlift::codegen
