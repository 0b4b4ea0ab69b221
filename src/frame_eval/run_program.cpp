// One run: fill the frame, call the function, build the result.
//
// A frame lies in one block of scratch memory, on the stack when it is small, so that a call
// allocates nothing but its results. Arrays get their Python object only when they are handed out.
#include "run_program.h"

#include <algorithm>
#include <cstring>

#include "numlift/codegen/compile.h"
#include "numlift/numpy_shim/allocator.h"
#include "numlift/numpy_shim/errstate.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/numpy_shim/output.h"
#include "numlift/py/py_error.h"
#include "overlap.h"
#include "run_frame.h"

namespace numlift::frame_eval {

using codegen::Buffer;
using codegen::ScalarSlot;
using codegen::ValueRef;
using guards::CompiledSize;
using numpy_shim::as_array;

namespace {

constexpr size_t kUsualScratchBytes = 2048;

std::vector<CompiledSize> compiled(const std::vector<SizeExpr>& sizes) {
  std::vector<CompiledSize> result;
  for (const SizeExpr& size : sizes) result.emplace_back(size);
  return result;
}

}  // namespace

ProgramHost::ProgramHost(const codegen::Program& program, codegen::ProgramFunction function,
                         codegen::CudaProgram* device, const std::vector<InputSpec>& inputs,
                         const std::vector<RecipeNode>& recipe,
                         const std::vector<uint32_t>& results,
                         const std::vector<ExternRecipe>& externs, const guards::GuardSet& guards,
                         uint8_t fp_checks, BorrowedRef globals)
    : program_(program),
      function_(function),
      device_(device),
      inputs_(inputs),
      recipe_(recipe),
      results_(results) {
  NUMLIFT_CHECK(guards.symbol_count() == program.graph.symbols.size(), "{} symbols became {}",
                guards.symbol_count(), program.graph.symbols.size());
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    input_slots_.push_back(guards.input_slot(i));
    if (!guards.is_argument(i)) held_inputs_.push_back(i);
    (inputs[i].kind == InputSpec::Kind::kArray ? array_inputs_ : scalar_inputs_).push_back(i);
    if (inputs[i].stored_to) stored_inputs_.push_back(i);
  }
  stored_externs_.resize(program.buffers.size());
  shown_externs_.resize(program.buffers.size());
  for (uint32_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    BufferPlan plan{.kind = buffer.kind,
                    .dtype = buffer.dtype,
                    .item_bytes = item_size(buffer.dtype),
                    .c_order = true,
                    .dims = compiled(buffer.dims),
                    .strides = compiled(buffer.strides)};
    for (size_t k = 0; k < buffer.order.size(); ++k)
      plan.c_order = plan.c_order && buffer.order[k] == k;
    switch (buffer.kind) {
      case Buffer::Kind::kInput:
        plan.input_slot = input_slots_.at(buffer.input);
        input_buffers_.push_back({b, plan.input_slot});
        if (buffer.needs_undo) undo_inputs_.push_back(buffer.input);
        break;
      case Buffer::Kind::kArray:
        plan.dims_at = dims_count_;
        dims_count_ += static_cast<uint32_t>(plan.dims.size());
        owned_arrays_.push_back(b);
        if (b >= program.allocate_late.size() || !program.allocate_late[b])
          early_arrays_.push_back(b);
        break;
      case Buffer::Kind::kScalar:
        plan.scalar = scalar_count_++;
        scalar_buffers_.push_back(b);
        break;
      case Buffer::Kind::kTemp:
        plan.slot = buffer.slot;
        temp_buffers_.push_back(b);
        if (buffer.moves) moving_temps_.push_back(b);
        break;
      case Buffer::Kind::kExtern:
        if (program.graph.node(buffer.node).type.value_kind != ValueKind::kArray) {
          plan.scalar = scalar_count_++;
          scalar_buffers_.push_back(b);
        }
        for (const Node& node : program.graph.nodes()) {
          if (node.op == Op::kStore && program.graph.buffer_of(node.operands[0]) == buffer.node) {
            stored_externs_[b] = true;
          }
        }
        break;
      case Buffer::Kind::kLocal:
        ++local_count_;
        break;
      case Buffer::Kind::kPrivate:
        break;
    }
    buffers_.push_back(std::move(plan));
  }
  for (const SizeExpr& bytes : program.temp_slot_bytes) temp_bytes_.emplace_back(bytes);
  const auto view_plan = [](const ValueRef& value) {
    return ViewPlan{CompiledSize(value.offset),
                    CompiledSize(value.size),
                    compiled(value.dims),
                    compiled(value.strides),
                    {}};
  };
  const auto keep_object = [&](const ValueRef& value) {
    if (value.kind == ValueRef::Kind::kView)
      shown_externs_[static_cast<size_t>(value.buffer)] = true;
    if (value.kind != ValueRef::Kind::kObject) return;
    if (std::find(object_items_.begin(), object_items_.end(), value.node) != object_items_.end())
      return;
    object_items_.push_back(value.node);
  };
  for (const ValueRef& value : program.outputs) {
    outputs_.push_back(view_plan(value));
    keep_object(value);
  }
  for (const RecipeNode& node : recipe) {
    if (node.kind == RecipeNode::Kind::kOutput)
      outputs_[node.index].shown_strides = compiled(node.strides);
  }

  externs_.resize(program.steps.size());
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const auto* step = std::get_if<codegen::ExternStep>(&program.steps[s]);
    if (step == nullptr) continue;
    copy_count_ = buffers_.size();
    const Node& node = program.graph.node(step->node);
    ExternPlan& plan = externs_[s];
    plan.recipe = recipe_in_users_name(externs.at(step->call),
                                       program.graph.locations[node.location], globals);
    plan.fp_checks = fp_checks | node.fp_checks;
    for (const ValueRef& operand : step->operands) {
      plan.operands.push_back(view_plan(operand));
      keep_object(operand);
    }
    for (const SizeGuard& guard : program.graph.size_guards) {
      if (decided_by(guard, *step, program)) {
        plan.size_guards.push_back(
            {guard.relation, CompiledSize(guard.left), CompiledSize(guard.right)});
      }
    }
  }
  layout_ = layout();
  is_direct_ = can_run_direct(guards);
}

ProgramHost::FrameLayout ProgramHost::layout() const {
  FrameLayout l{};
  size_t at = 0;
  const auto place = [&](size_t* field, size_t count, size_t size) {
    *field = at;
    at += count * size;
  };
  size_t scalars = 0;
  place(&scalars, inputs_.size(), sizeof(ScalarSlot));
  place(&l.scalar_storage, scalar_count_, sizeof(ScalarSlot));
  place(&l.dims, dims_count_, sizeof(int64_t));
  place(&l.held, held_inputs_.size(), sizeof(PyObject*));
  place(&l.saved, undo_inputs_.size(), sizeof(PyObject*));
  place(&l.buffers, buffers_.size(), sizeof(char*));
  place(&l.objects, buffers_.size(), sizeof(PyObject*));
  place(&l.copies, copy_count_, sizeof(PyObject*));
  place(&l.temps, temp_bytes_.size(), sizeof(char*));
  place(&l.item_objects, object_items_.size(), sizeof(PyObject*));
  l.bytes = at;
  return l;
}

[[gnu::always_inline]] inline bool ProgramHost::BufferPlan::allocate(
    std::span<const int64_t> symbols, int64_t* dim_values, char** block) const {
  int64_t bytes = item_bytes;
  bool is_empty = false, overflows = false;
  for (const CompiledSize& size : dims) {
    int64_t dim = 0;
    if (!size.evaluate(symbols, &dim) || dim < 0) return false;
    *dim_values++ = dim;
    is_empty = is_empty || dim == 0;
    overflows = __builtin_mul_overflow(bytes, dim, &bytes) || overflows;
  }
  if (overflows && !is_empty) return false;
  *block = static_cast<char*>(numpy_shim::pool_allocate(is_empty ? 0 : static_cast<size_t>(bytes)));
  return *block != nullptr;
}

// Again inside a loop: what the last iteration had there is no longer this program's.
bool ProgramHost::allocate_array(RunFrame* frame, uint32_t b) const {
  const BufferPlan& plan = buffers_[b];
  if (frame->objects[b] != nullptr)
    Py_CLEAR(frame->objects[b]);
  else
    numpy_shim::pool_free(frame->buffers[b]);
  frame->buffers[b] = nullptr;
  return plan.allocate(frame->symbols, frame->dims + plan.dims_at, &frame->buffers[b]);
}

bool ProgramHost::read_scalars(PyObject* const* slots, ScalarSlot* scalars) const {
  for (uint32_t i : scalar_inputs_) {
    const InputSpec& input = inputs_[i];
    const ValueKind kind = input.kind == InputSpec::Kind::kNumpyScalar ? ValueKind::kNumpyScalar
                                                                       : ValueKind::kPyScalar;
    PyObject* object = slots[input_slots_[i]];
    if (!numpy_shim::read_scalar(object, kind, input.dtype, scalars[i].bytes)) return false;
  }
  return true;
}

bool ProgramHost::can_run_direct(const guards::GuardSet& guards) const {
  if (device_ != nullptr || results_.size() != 1 || recipe_.size() != 1 ||
      recipe_[0].kind != RecipeNode::Kind::kOutput || recipe_[0].read_only)
    return false;
  const ValueRef& value = program_.outputs[recipe_[0].index];
  return value.kind == ValueRef::Kind::kBufferArray && owned_arrays_.size() == 1 &&
         early_arrays_ == owned_arrays_ &&
         owned_arrays_[0] == static_cast<uint32_t>(value.buffer) &&
         input_buffers_.size() + local_count_ + 1 == buffers_.size() && temp_bytes_.empty() &&
         copy_count_ == 0 && held_inputs_.empty() && stored_inputs_.empty() &&
         buffers_[owned_arrays_[0]].c_order && buffers_.size() <= kMostDirectBuffers &&
         guards.slot_count() <= kMostDirectSlots && guards.symbol_count() <= kMostDirectSymbols &&
         inputs_.size() <= kMostDirectSlots;
}

Outcome ProgramHost::run_direct(PyObject* const* slots, int64_t* symbols, PyObject** result) const {
  ScalarSlot scalars[kMostDirectSlots];
  char* buffers[kMostDirectBuffers];
  int64_t dims[NPY_MAXDIMS];
  if (!scalar_inputs_.empty() && !read_scalars(slots, scalars)) return Outcome::kRestart;
  for (const InputBuffer& input : input_buffers_) {
    buffers[input.buffer] = PyArray_BYTES(as_array(slots[input.slot]));
  }
  const uint32_t b = owned_arrays_[0];
  const BufferPlan& plan = buffers_[b];
  char* block = nullptr;
  if (!plan.allocate({symbols, program_.graph.symbols.size()}, dims, &block))
    return Outcome::kRestart;
  buffers[b] = block;
  // Such a program calls back for the GIL alone, which needs no context.
  codegen::ProgramFrame native{symbols, buffers, scalars, nullptr, &kHostCallbacks};
  auto exit = static_cast<codegen::ExitCode>(function_(&native));
  if (exit == codegen::ExitCode::kSuspicious)
    exit = static_cast<codegen::ExitCode>(precise_function()(&native));
  if (exit != codegen::ExitCode::kReturn) {
    numpy_shim::pool_free(block);
    return exit == codegen::ExitCode::kRestart ? Outcome::kRestart : Outcome::kError;
  }
  try {
    *result =
        numpy_shim::make_array(plan.dtype, static_cast<int>(plan.dims.size()), dims, nullptr, block)
            .release();
    return Outcome::kDone;
  } catch (const PyError&) {
    *result = nullptr;
    return Outcome::kError;
  }
}

codegen::ExitCode ProgramHost::execute(codegen::ProgramFunction function,
                                       codegen::ProgramFrame* native, RunFrame* frame) const {
  const auto exit =
      function == nullptr ? device_->run(native) : static_cast<codegen::ExitCode>(function(native));
  // Each slot has one owner, whose memory it holds.
  for (uint32_t b : moving_temps_) frame->temps[buffers_[b].slot] = frame->buffers[b];
  return exit;
}

codegen::ProgramFunction ProgramHost::precise_function() const {
  const std::lock_guard<std::mutex> lock(precise_->mutex);
  if (precise_->code == nullptr)
    precise_->code = codegen::emit_native(program_, false, codegen::LoopChecks::kPrecise);
  return precise_->code->function();
}

bool ProgramHost::prepare(RunFrame* frame) const {
  if (!read_scalars(frame->slots, frame->scalars)) return false;
  for (uint32_t i : held_inputs_) {
    frame->held[frame->held_count++] = Py_NewRef(frame->slots[input_slots_[i]]);
  }
  for (const InputBuffer& input : input_buffers_) {
    frame->buffers[input.buffer] = PyArray_BYTES(as_array(frame->slots[input.slot]));
  }
  for (uint32_t b : scalar_buffers_) {
    frame->buffers[b] = reinterpret_cast<char*>(frame->scalar_storage[buffers_[b].scalar].bytes);
  }
  for (uint32_t b : early_arrays_) {
    if (!allocate_array(frame, b)) return false;
  }
  for (size_t t = 0; t < temp_bytes_.size(); ++t) {
    if (program_.grown_slots[t]) continue;
    int64_t bytes = 0;
    if (!temp_bytes_[t].evaluate(frame->symbols, &bytes) || bytes < 0) return false;
    frame->temps[t] = static_cast<char*>(numpy_shim::pool_allocate(static_cast<size_t>(bytes)));
    if (frame->temps[t] == nullptr) return false;
  }
  for (uint32_t b : temp_buffers_) frame->buffers[b] = frame->temps[buffers_[b].slot];
  return true;
}

bool ProgramHost::has_overlap(const RunFrame& frame) const {
  for (uint32_t stored : stored_inputs_) {
    PyArrayObject* target = as_array(frame.slots[input_slots_[stored]]);
    if (!has_distinct_elements(target)) return true;
    for (uint32_t other : array_inputs_) {
      if (other != stored && may_overlap(target, as_array(frame.slots[input_slots_[other]])))
        return true;
    }
  }
  return false;
}

void ProgramHost::save_undo_inputs(RunFrame* frame) const {
  for (uint32_t i : undo_inputs_) {
    PyArrayObject* array = as_array(frame->slots[input_slots_[i]]);
    Ref copy;
    if (PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array)) {
      copy = numpy_shim::make_empty_array(inputs_[i].dtype, PyArray_NDIM(array),
                                          PyArray_DIMS(array), PyArray_STRIDES(array));
      std::memcpy(PyArray_DATA(as_array(copy)), PyArray_DATA(array),
                  static_cast<size_t>(PyArray_NBYTES(array)));
    } else {
      copy = checked(PyArray_NewCopy(array, NPY_KEEPORDER));
    }
    frame->saved[frame->saved_count++] = copy.release();
  }
}

void RunFrame::restore() {
  for (size_t k = 0; k < saved_count; ++k) {
    PyArrayObject* array = as_array(slots[host.input_slots_[host.undo_inputs_[k]]]);
    if (PyArray_CopyInto(array, as_array(saved[k])) < 0) throw PyError();
  }
  drawn.restore();
}

PyObject* ProgramHost::array_object(RunFrame* frame, uint32_t b) const {
  const BufferPlan& plan = buffers_[b];
  if (plan.kind == Buffer::Kind::kInput) return frame->slots[plan.input_slot];
  PyObject*& object = frame->objects[b];
  if (object != nullptr) return object;
  NUMLIFT_CHECK(plan.kind == Buffer::Kind::kArray && frame->buffers[b] != nullptr,
                "buffer {} has no array object", b);
  const int64_t* dims = frame->dims + plan.dims_at;
  int64_t strides[NPY_MAXDIMS];
  NUMLIFT_CHECK(plan.c_order || evaluate_sizes(plan.strides, frame->symbols, strides),
                "strides of buffer {}", b);
  char* data = std::exchange(frame->buffers[b], nullptr);  // make_array takes it over in any case
  object = numpy_shim::make_array(plan.dtype, static_cast<int>(plan.dims.size()), dims,
                                  plan.c_order ? nullptr : strides, data)
               .release();
  frame->buffers[b] = data;
  return object;
}

Ref ProgramHost::make_value(RunFrame* frame, const ValueRef& value, const ViewPlan& plan) const {
  const auto b = static_cast<uint32_t>(value.buffer);
  switch (value.kind) {
    case ValueRef::Kind::kBufferArray:
      return Ref::create(array_object(frame, b));
    case ValueRef::Kind::kInputObject:
      return Ref::create(frame->slots[input_slots_.at(value.input)]);
    case ValueRef::Kind::kView: {
      int64_t offset = 0, dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
      const bool known = plan.offset.evaluate(frame->symbols, &offset) &&
                         evaluate_sizes(plan.dims, frame->symbols, dims) &&
                         evaluate_sizes(plan.strides, frame->symbols, strides);
      NUMLIFT_CHECK(known, "sizes of a view overflow");
      int64_t shown[NPY_MAXDIMS];
      if (!plan.shown_strides.empty() &&
          evaluate_sizes(plan.shown_strides, frame->symbols, shown)) {
        for (size_t axis = 0; axis < plan.shown_strides.size(); ++axis) {
          if (dims[axis] == 1) strides[axis] = shown[axis];
        }
      }
      return numpy_shim::make_view(array_object(frame, b), value.dtype, offset,
                                   static_cast<int>(plan.dims.size()), dims, strides);
    }
    case ValueRef::Kind::kNumpyScalar:
      return numpy_shim::make_numpy_scalar(buffers_[b].dtype, frame->buffers[b]);
    case ValueRef::Kind::kPyScalar:
      return numpy_shim::make_py_scalar(buffers_[b].dtype, frame->buffers[b]);
    case ValueRef::Kind::kSize: {
      int64_t size = 0;
      NUMLIFT_CHECK(plan.size.evaluate(frame->symbols, &size), "a size overflows");
      return checked(PyLong_FromLongLong(size));
    }
    case ValueRef::Kind::kObject: {
      for (size_t k = 0; k < object_items_.size(); ++k) {
        if (object_items_[k] == value.node) return Ref::create(frame->item_objects[k]);
      }
      NUMLIFT_CHECK(false, "no object of node %{}", index_of(value.node));
    }
  }
  NUMLIFT_UNREACHABLE();
}

void ProgramHost::make_results(RunFrame* frame, PyObject** results) const {
  if (recipe_.size() == 1 && recipe_[0].kind == RecipeNode::Kind::kOutput &&
      !recipe_[0].read_only && results_.size() == 1) {
    results[0] =
        make_value(frame, program_.outputs[recipe_[0].index], outputs_[recipe_[0].index]).release();
    return;
  }
  const std::vector<Ref> made = build_recipe(recipe_, frame->call, [&](uint32_t index) {
    return make_value(frame, program_.outputs[index], outputs_[index]);
  });
  for (size_t i = 0; i < results_.size(); ++i) results[i] = Ref(made[results_[i]]).release();
}

Outcome ProgramHost::run(const guards::CallInputs& call, PyObject* const* slots, int64_t* symbols,
                         PyObject** results) const {
  alignas(ScalarSlot) char usual_scratch[kUsualScratchBytes];
  std::unique_ptr<ScalarSlot[]> long_scratch;
  char* scratch = usual_scratch;
  if (layout_.bytes > kUsualScratchBytes) {
    long_scratch.reset(new ScalarSlot[layout_.bytes / sizeof(ScalarSlot) + 1]);
    scratch = reinterpret_cast<char*>(long_scratch.get());
  }
  RunFrame frame(*this, call, slots, {symbols, program_.graph.symbols.size()}, scratch);

  if (!stored_inputs_.empty() && has_overlap(frame)) return Outcome::kOverlap;
  try {
    if (!prepare(&frame)) return Outcome::kRestart;
    save_undo_inputs(&frame);
    codegen::ProgramFrame native{symbols, frame.buffers, frame.scalars, &frame, &kHostCallbacks};
    codegen::ExitCode exit = execute(function_, &native, &frame);
    if (exit == codegen::ExitCode::kSuspicious) {
      frame.restore();
      exit = execute(precise_function(), &native, &frame);
    }
    if (frame.failure) std::rethrow_exception(frame.failure);
    if (exit == codegen::ExitCode::kRestart) {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);  // set when an extern met what must not be swallowed
      frame.restore();
      PyErr_Restore(type, value, traceback);
      return type == nullptr ? Outcome::kRestart : Outcome::kError;
    }
    // A signal's handler raised: the stores stay, as those of a loop in CPython do.
    if (exit == codegen::ExitCode::kInterrupted) return Outcome::kError;
    make_results(&frame, results);
    return Outcome::kDone;
  } catch (const PyError&) {
    return Outcome::kError;
  } catch (const codegen::CudaError& error) {
    frame.restore();
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return Outcome::kError;
  } catch (...) {
    frame.restore();
    throw;
  }
}

void ProgramHost::collect_refs(guards::RefCollector* collector) const {
  for (const ExternPlan& plan : externs_) collect_recipe_refs(plan.recipe, collector);
}

}  // namespace numlift::frame_eval
