// One run: fill the frame, call the function, build the result.
//
// A frame lies in one block of scratch memory, on the stack when it is small, so that a call
// allocates nothing but its results. Arrays get their Python object only when they are handed out.
#include "run_program.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

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

constexpr size_t kStackScratchBytes = size_t{16} << 10;

std::vector<CompiledSize> compiled(const std::vector<SizeExpr>& sizes) {
  std::vector<CompiledSize> result;
  for (const SizeExpr& size : sizes) result.emplace_back(size);
  return result;
}

}  // namespace

ProgramHost::ProgramHost(const codegen::Program& program, codegen::ProgramFunction function,
                         const std::vector<InputSpec>& inputs,
                         const std::vector<RecipeNode>& recipe,
                         const std::vector<uint32_t>& results,
                         const std::vector<ExternRecipe>& externs, const guards::GuardSet& guards,
                         uint8_t fp_checks, BorrowedRef globals)
    : program_(program), function_(function), inputs_(inputs), recipe_(recipe), results_(results) {
  NUMLIFT_CHECK(guards.symbol_count() == program.graph.symbols.size(), "{} symbols became {}",
                guards.symbol_count(), program.graph.symbols.size());
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    input_slots_.push_back(guards.input_slot(i));
    if (!guards.is_argument(i)) held_inputs_.push_back(i);
    (inputs[i].kind == InputSpec::Kind::kArray ? array_inputs_ : scalar_inputs_).push_back(i);
    if (inputs[i].stored_to) stored_inputs_.push_back(i);
  }
  stored_externs_.resize(program.buffers.size());
  for (uint32_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    BufferPlan plan{.kind = buffer.kind,
                    .dtype = buffer.dtype,
                    .c_order = true,
                    .dims = compiled(buffer.dims),
                    .strides = compiled(buffer.strides)};
    for (size_t k = 0; k < buffer.order.size(); ++k)
      plan.c_order = plan.c_order && buffer.order[k] == k;
    switch (buffer.kind) {
      case Buffer::Kind::kInput:
        plan.input_slot = input_slots_.at(buffer.input);
        input_buffers_.push_back(b);
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
      case Buffer::Kind::kPrivate:
        break;
    }
    buffers_.push_back(std::move(plan));
  }
  for (const SizeExpr& bytes : program.temp_slot_bytes) temp_bytes_.emplace_back(bytes);
  const auto view_plan = [](const ValueRef& value) {
    return ViewPlan{CompiledSize(value.offset), CompiledSize(value.size), compiled(value.dims),
                    compiled(value.strides)};
  };
  const auto keep_object = [&](const ValueRef& value) {
    if (value.kind != ValueRef::Kind::kObject) return;
    if (std::find(object_items_.begin(), object_items_.end(), value.node) != object_items_.end())
      return;
    object_items_.push_back(value.node);
  };
  for (const ValueRef& value : program.outputs) {
    outputs_.push_back(view_plan(value));
    keep_object(value);
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
  scratch_bytes_ = RunFrame::scratch_bytes(*this);
}

bool ProgramHost::allocate_array(RunFrame* frame, uint32_t b) const {
  const BufferPlan& plan = buffers_[b];
  int64_t* dims = frame->dims + plan.dims_at;
  if (!evaluate_sizes(plan.dims, frame->symbols, dims)) return false;
  const int64_t bytes =
      numpy_shim::array_bytes(plan.dtype, static_cast<int>(plan.dims.size()), dims);
  if (bytes < 0) return false;
  frame->buffers[b] = static_cast<char*>(numpy_shim::pool_allocate(static_cast<size_t>(bytes)));
  return frame->buffers[b] != nullptr;
}

bool ProgramHost::prepare(RunFrame* frame) const {
  for (uint32_t i : scalar_inputs_) {
    const InputSpec& input = inputs_[i];
    const ValueKind kind = input.kind == InputSpec::Kind::kNumpyScalar ? ValueKind::kNumpyScalar
                                                                       : ValueKind::kPyScalar;
    PyObject* object = frame->slots[input_slots_[i]];
    if (!numpy_shim::read_scalar(object, kind, input.dtype, frame->scalars[i].bytes)) return false;
  }
  for (uint32_t i : held_inputs_) {
    frame->held[frame->held_count++] = Py_NewRef(frame->slots[input_slots_[i]]);
  }
  for (uint32_t b : input_buffers_) {
    frame->buffers[b] = PyArray_BYTES(as_array(frame->slots[buffers_[b].input_slot]));
  }
  for (uint32_t b : scalar_buffers_) {
    frame->buffers[b] = reinterpret_cast<char*>(frame->scalar_storage[buffers_[b].scalar].bytes);
  }
  for (uint32_t b : early_arrays_) {
    if (!allocate_array(frame, b)) return false;
  }
  for (size_t t = 0; t < temp_bytes_.size(); ++t) {
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

void ProgramHost::save_stored_inputs(RunFrame* frame) const {
  for (uint32_t i : stored_inputs_) {
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
    PyArrayObject* array = as_array(slots[host.input_slots_[host.stored_inputs_[k]]]);
    if (PyArray_CopyInto(array, as_array(saved[k])) < 0) throw PyError();
  }
}

PyObject* ProgramHost::array_object(RunFrame* frame, uint32_t b) const {
  PyObject*& object = frame->objects[b];
  if (object != nullptr) return object;
  const BufferPlan& plan = buffers_[b];
  if (plan.kind == Buffer::Kind::kInput) return frame->slots[plan.input_slot];
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
    results[0] = make_value(frame, program_.outputs[recipe_[0].index], outputs_[recipe_[0].index])
                     .release();
    return;
  }
  const std::vector<Ref> made = build_recipe(recipe_, frame->call, [&](uint32_t index) {
    return make_value(frame, program_.outputs[index], outputs_[index]);
  });
  for (size_t i = 0; i < results_.size(); ++i) results[i] = Ref(made[results_[i]]).release();
}

Outcome ProgramHost::run(const guards::CallInputs& call, PyObject* const* slots, int64_t* symbols,
                         PyObject** results) const {
  std::unique_ptr<char[]> heap;
  char* scratch;
  if (scratch_bytes_ <= kStackScratchBytes) {
    scratch = static_cast<char*>(alloca(scratch_bytes_ + 16));
  } else {
    heap = std::make_unique<char[]>(scratch_bytes_ + 16);
    scratch = heap.get();
  }
  scratch = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(scratch) + 15) & ~uintptr_t{15});
  RunFrame frame(*this, call, slots, {symbols, program_.graph.symbols.size()}, scratch);

  if (!stored_inputs_.empty() && has_overlap(frame)) return Outcome::kOverlap;
  try {
    if (!prepare(&frame)) return Outcome::kRestart;
    if (program_.may_restart && !stored_inputs_.empty()) save_stored_inputs(&frame);
    codegen::ProgramFrame native{symbols, frame.buffers, frame.scalars, &frame, &kHostCallbacks};
    const auto exit = static_cast<codegen::ExitCode>(function_(&native));
    if (frame.failure) std::rethrow_exception(frame.failure);
    if (exit == codegen::ExitCode::kRestart) {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);  // set when an extern met what must not be swallowed
      frame.restore();
      PyErr_Restore(type, value, traceback);
      return type == nullptr ? Outcome::kRestart : Outcome::kError;
    }
    make_results(&frame, results);
    return Outcome::kDone;
  } catch (const PyError&) {
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
