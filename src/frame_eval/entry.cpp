#include "entry.h"

#include <algorithm>
#include <chrono>

#include "numlift/codegen/disk_cache.h"
#include "numlift/graph/pass.h"
#include "numlift/graph/text.h"
#include "numlift/py/py_error.h"
#include "numlift/support/log.h"
#include "run_backend.h"
#include "run_frame.h"
#include "run_reference.h"

namespace numlift::frame_eval {
namespace {

std::vector<guards::InputSource> input_sources(const std::vector<InputSpec>& inputs) {
  std::vector<guards::InputSource> sources;
  for (const InputSpec& input : inputs) {
    sources.push_back({input.source, input.kind == InputSpec::Kind::kArray, input.stored_to});
  }
  return sources;
}

// dynamic=False: each size and int must be what it was.
void fix_sizes(const std::vector<Symbol>& symbols, const std::vector<SymbolId>& dynamic,
               std::vector<SizeGuard>* guards) {
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].kind != SymbolKind::kDim && symbols[i].kind != SymbolKind::kInt) continue;
    if (std::find(dynamic.begin(), dynamic.end(), SymbolId{i}) != dynamic.end()) continue;
    guards->push_back({SizeGuard::Relation::kEqual, SizeExpr::symbol(SymbolId{i}),
                       SizeExpr(symbols[i].hint), "dynamic=False fixes sizes", ""});
  }
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() { PyEval_RestoreThread(state_); }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace

Entry::Entry(TraceResult trace, const CompileOptions& options, numpy_shim::ErrState errstate,
             const guards::CallInputs& now)
    : kind_(Kind::kProgram),
      errstate_(errstate),
      device_(current_device()),
      inputs_(std::move(trace.inputs)),
      recipe_(std::move(trace.recipe)),
      results_(std::move(trace.results)),
      externs_(std::move(trace.externs)),
      graph_(std::move(trace.graph)),
      operations_(std::move(trace.operations)),
      loops_left_(std::move(trace.loops_left)) {
  const auto start = std::chrono::steady_clock::now();
  if (options.dynamic == false)
    fix_sizes(graph_.symbols, trace.dynamic_symbols, &graph_.size_guards);
  guards_ = std::make_unique<guards::GuardSet>(std::move(trace.guards), input_sources(inputs_),
                                               graph_.symbols, graph_.size_guards, now);
  times.guards = milliseconds_since(start);
  note_owned();
}

Entry::Entry(TraceBreak trace, const CompileOptions&, numpy_shim::ErrState errstate,
             const guards::CallInputs& now)
    : kind_(Kind::kPython),
      errstate_(errstate),
      device_(current_device()),
      inputs_(std::move(trace.inputs)),
      break_info_(std::move(trace.info)),
      loops_left_(std::move(trace.loops_left)) {
  guards_ = std::make_unique<guards::GuardSet>(std::move(trace.guards), input_sources(inputs_),
                                               trace.symbols, trace.size_guards, now);
  note_owned();
}

void Entry::compile(const CompileOptions& options, BorrowedRef function) {
  const bool for_device = options.backend == Backend::kCuda ||
                          (options.backend == Backend::kLlvm && device_ == DeviceKind::kCuda);
  if (options.backend != Backend::kLlvm && !for_device) {
    const auto start = std::chrono::steady_clock::now();
    if (options.backend == Backend::kGraph) run_default_passes(&graph_);
    if (options.backend == Backend::kUsers) eliminate_dead_code(&graph_);
    times.passes = milliseconds_since(start);
    kind_ = options.backend == Backend::kUsers ? Kind::kUsers : Kind::kReference;
    users_backend_ = options.users_backend;
    return;
  }
  try {
    const GilReleased released;
    const auto start = std::chrono::steady_clock::now();
    compiled_ = codegen::compile_graph(
        graph_, for_device ? codegen::Target::kCuda : codegen::Target::kHost);
    times.schedule = compiled_->schedule_ms;
    times.emit = compiled_->emit_ms;
    times.passes = milliseconds_since(start) - times.schedule - times.emit;
  } catch (const codegen::CudaError& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    throw PyError();
  }
  host_ = std::make_unique<ProgramHost>(
      compiled_->program, compiled_->code ? compiled_->code->function() : nullptr,
      compiled_->device.get(), inputs_, recipe_, results_, externs_, *guards_, errstate_.fp_checks,
      PyFunction_GetGlobals(function.get()));
  if (host_->is_direct()) direct_ = host_.get();
  note_owned();
}

bool Entry::is_from_disk() const {
  return compiled_ && compiled_->code && codegen::is_from_disk(*compiled_->code);
}

std::string Entry::cuda_source() const {
  return compiled_ ? codegen::cuda_kernels_text(compiled_->program) : "";
}

void Entry::become_python(BreakInfo why) {
  kind_ = Kind::kPython;
  direct_ = nullptr;
  break_info_ = std::move(why);
}

Outcome Entry::run(const guards::CallInputs& call, PyObject* const* slots, int64_t* symbols,
                   PyObject** results) {
  const NamedObjects::Held held(named_);
  if (kind_ == Kind::kProgram) return host_->run(call, slots, symbols, results);
  if (kind_ == Kind::kUsers && !is_asking_)
    return run_users(call, slots, {symbols, guards_->symbol_count()}, results);
  return run_reference(graph_, inputs_, recipe_, results_, externs_, *guards_, errstate_.fp_checks,
                       call, slots, {symbols, guards_->symbol_count()}, results);
}

// The backend is asked at the first run, when there is nothing under way in which its own calls of
// compiled functions could be caught. Until it has answered, other calls run node by node.
Outcome Entry::run_users(const guards::CallInputs& call, PyObject* const* slots,
                         std::span<const int64_t> symbols, PyObject** results) {
  if (!users_program_.callable) {
    std::vector<Ref> objects;
    for (uint32_t i = 0; i < inputs_.size(); ++i)
      objects.push_back(Ref::create(slots[guards_->input_slot(i)]));
    is_asking_ = true;
    try {
      users_program_ = backend_maker()(users_backend_, graph_, inputs_, externs_, objects, symbols);
      is_asking_ = false;
    } catch (const PyError&) {
      is_asking_ = false;
      return Outcome::kError;
    } catch (...) {
      is_asking_ = false;
      throw;
    }
    note_owned();
  }
  return run_backend(users_program_, graph_, inputs_, recipe_, results_, *guards_,
                     errstate_.fp_checks, call, slots, symbols, results);
}

EntryInfo Entry::info() const {
  EntryInfo info;
  info.guards = guards_->texts();
  info.hits = hits;
  info.restarts = restarts;
  info.times = times;
  info.is_from_disk = is_from_disk();
  info.recompile_reason = recompile_reason;
  info.loops_left = loops_left_;
  if (const BreakInfo* why = why_left()) info.break_reason = why->reason;
  switch (kind_) {
    case Kind::kPython:
      info.kind = "python";
      return info;
    case Kind::kReference:
      info.kind = "graph";
      break;
    case Kind::kUsers:
      info.kind = "backend";
      break;
    case Kind::kProgram:
      info.kind = "program";
      break;
  }
  info.operations = operations_;
  const Graph& graph = compiled_ ? compiled_->program.graph : graph_;
  info.graph_text = graph_text(graph);
  info.graph_table = graph_table(graph);
  if (compiled_) {
    info.kernels = compiled_->program.kernel_count;
    if (compiled_->code) info.code_size = compiled_->code->code_size_bytes();
  }
  return info;
}

// Sources are shared by the guards, inputs and recipes of one trace and by nothing else, so that
// every reference counted here is owned by this entry alone.
void Entry::note_owned() {
  owned_.clear();
  guards::RefCollector collector([this](const Ref& ref) {
    if (!named_.is_lent(ref.get())) owned_.push_back(ref.get());
  });
  collect_names(&collector);
  if (exit) collector.add(exit->function);
  collector.add(users_backend_);
  collector.add(users_program_.callable);
}

void Entry::collect_names(guards::RefCollector* collector) const {
  guards_->collect_refs(collector);
  for (const InputSpec& input : inputs_) collector->add(input.source);
  collect_recipe_refs(recipe_, collector);
  for (const ExternRecipe& recipe : externs_) collect_recipe_refs(recipe, collector);
  if (host_) host_->collect_refs(collector);
}

void Entry::borrow_names() {
  std::vector<Ref*> refs;
  // They are this entry's own, to change.
  guards::RefCollector collector([&](const Ref& ref) { refs.push_back(const_cast<Ref*>(&ref)); });
  collect_names(&collector);
  named_.borrow(refs);
  note_owned();
}

}  // namespace numlift::frame_eval
