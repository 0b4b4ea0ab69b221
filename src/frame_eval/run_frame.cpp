// A run's scratch memory and the call-backs of the native function.
#include "run_frame.h"

#include <utility>

#include "numlift/frame_eval/marks.h"
#include "numlift/numpy_shim/allocator.h"
#include "numlift/py/py_error.h"

namespace numlift::frame_eval {

RunFrame::~RunFrame() {
  for (uint32_t b : host.owned_arrays_) {
    if (objects[b] != nullptr)
      Py_DECREF(objects[b]);
    else
      numpy_shim::pool_free(buffers[b]);
  }
  for (size_t b = 0; b < host.copy_count_; ++b) {
    if (host.buffers_[b].kind == codegen::Buffer::Kind::kExtern) Py_XDECREF(objects[b]);
    Py_XDECREF(copies[b]);
  }
  for (size_t t = 0; t < host.temp_bytes_.size(); ++t) numpy_shim::pool_free(temps[t]);
  for (size_t k = 0; k < host.object_items_.size(); ++k) Py_XDECREF(item_objects[k]);
  for (size_t k = 0; k < held_count; ++k) Py_DECREF(held[k]);
  for (size_t k = 0; k < saved_count; ++k) Py_DECREF(saved[k]);
}

// No exception may pass through the native function: it is kept in the frame, the program stops.
struct HostCallbacks {
  template <class Body>
  static int32_t guarded(RunFrame* frame, Body body) noexcept {
    try {
      return body() ? 0 : 1;
    } catch (const PyError&) {
      // What CPython would raise, it raises when it runs the call. Only what is no answer to the
      // call (an interrupt, an exit) stays set and is handed on.
      if (!must_reach_user()) PyErr_Clear();
      return 1;
    } catch (...) {
      frame->failure = std::current_exception();
      return 1;
    }
  }
  static int32_t extern_call(void* context, uint32_t step) {
    auto* frame = static_cast<RunFrame*>(context);
    return guarded(frame, [&] { return frame->host.call_extern_step(frame, step); });
  }
  static int32_t allocate(void* context, uint32_t buffer) {
    auto* frame = static_cast<RunFrame*>(context);
    return guarded(frame, [&] { return frame->host.allocate_array(frame, buffer); });
  }
  static int32_t grow(void* context, uint32_t buffer, int64_t bytes) {
    auto* frame = static_cast<RunFrame*>(context);
    char*& memory = frame->temps[frame->host.buffers_[buffer].slot];
    numpy_shim::pool_free(std::exchange(memory, nullptr));
    if (bytes >= 0)
      memory = static_cast<char*>(numpy_shim::pool_allocate(static_cast<size_t>(bytes)));
    frame->buffers[buffer] = memory;
    return memory == nullptr ? 1 : 0;
  }
  // Needs no context. Others that wait for the GIL get it, and signals their handlers.
  static int32_t poll(void*) {
    PyEval_RestoreThread(PyEval_SaveThread());
    return PyErr_CheckSignals() == 0 ? 0 : 1;
  }
  static void* release_gil(void*) { return PyEval_SaveThread(); }
  static void acquire_gil(void*, void* state) {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  }
};

const codegen::RuntimeCallbacks kHostCallbacks{
    &HostCallbacks::extern_call, &HostCallbacks::allocate, &HostCallbacks::release_gil,
    &HostCallbacks::acquire_gil, &HostCallbacks::grow,     &HostCallbacks::poll};

}  // namespace numlift::frame_eval
