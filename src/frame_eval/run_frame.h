// The state of one run of a program, and helpers that the files about running share. Private to
// run_program.cpp, run_extern.cpp and recipe.cpp.
#pragma once

#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include "numlift/codegen/program.h"
#include "numlift/frame_eval/trace.h"
#include "drawn_states.h"
#include "run_program.h"

namespace numlift::frame_eval {

// Pointers into one block of scratch memory. What it owns at the end is released: arrays
// that were not handed out, temporaries, undo copies, references.
struct RunFrame {
  // scratch: layout_.bytes, aligned for a ScalarSlot.
  RunFrame(const ProgramHost& the_host, const guards::CallInputs& the_call,
           PyObject* const* the_slots, std::span<int64_t> the_symbols, char* scratch)
      : host(the_host), call(the_call), slots(the_slots), symbols(the_symbols) {
    const ProgramHost::FrameLayout& l = host.layout_;
    scalars = reinterpret_cast<codegen::ScalarSlot*>(scratch);
    scalar_storage = reinterpret_cast<codegen::ScalarSlot*>(scratch + l.scalar_storage);
    dims = reinterpret_cast<int64_t*>(scratch + l.dims);
    held = reinterpret_cast<PyObject**>(scratch + l.held);
    saved = reinterpret_cast<PyObject**>(scratch + l.saved);
    buffers = reinterpret_cast<char**>(scratch + l.buffers);
    objects = reinterpret_cast<PyObject**>(scratch + l.objects);
    copies = reinterpret_cast<PyObject**>(scratch + l.copies);
    temps = reinterpret_cast<char**>(scratch + l.temps);
    item_objects = reinterpret_cast<PyObject**>(scratch + l.item_objects);
    std::memset(scratch + l.buffers, 0, l.bytes - l.buffers);
  }
  ~RunFrame();
  RunFrame(const RunFrame&) = delete;
  RunFrame& operator=(const RunFrame&) = delete;

  // Puts back what the program stored into inputs.
  void restore();

  const ProgramHost& host;
  const guards::CallInputs& call;
  PyObject* const* slots;
  std::span<int64_t> symbols;
  codegen::ScalarSlot* scalars;         // by input
  codegen::ScalarSlot* scalar_storage;  // of kScalar buffers and extern scalars
  char** buffers;                       // by buffer; kArray: owned until objects[b] is there
  PyObject** objects;                   // by buffer, owned: the array of a kArray or kExtern buffer
  PyObject** copies;                    // by buffer (none in a program without externs), owned: C
                                        // contiguous copy of an extern's array
  char** temps;                         // owned
  int64_t* dims;                        // of kArray buffers at BufferPlan::dims_at, once allocated
  PyObject** item_objects;              // owned: opaque extern items
  PyObject** held;                      // owned: inputs that are no arguments
  size_t held_count = 0;
  PyObject** saved;  // owned: copies of stored inputs
  size_t saved_count = 0;
  DrawnStates drawn;
  std::exception_ptr failure;  // an internal error inside a callback
};

extern const codegen::RuntimeCallbacks kHostCallbacks;

inline bool evaluate_sizes(const std::vector<guards::CompiledSize>& sizes,
                           std::span<const int64_t> symbols, int64_t* out) {
  for (const guards::CompiledSize& size : sizes) {
    if (!size.evaluate(symbols, out++)) return false;
  }
  return true;
}

// ---- recipe.cpp
// The objects that a recipe's nodes describe; `output` makes Graph::outputs[index].
std::vector<Ref> build_recipe(const std::vector<RecipeNode>& recipe, const guards::CallInputs& call,
                              const std::function<Ref(uint32_t index)>& output);
// RecipeNode::strides, by output.
std::vector<std::vector<SizeExpr>> shown_strides(const std::vector<RecipeNode>& recipe,
                                                 size_t output_count);
// The array with these strides on its axes of size 1: a view, unless it has them. Empty: as it is.
Ref with_strides(const Ref& value, const std::vector<SizeExpr>& shown,
                 const std::function<int64_t(const SizeExpr&)>& size);
void collect_recipe_refs(const std::vector<RecipeNode>& nodes, guards::RefCollector* collector);
void collect_recipe_refs(const ExternRecipe& recipe, guards::RefCollector* collector);

// ---- run_extern.cpp
// The same call made from a frame that has the user's file, function and line, so that a warning
// issued inside says what it would say in CPython.
ExternRecipe recipe_in_users_name(const ExternRecipe& recipe, const SourceLocation& location,
                                  BorrowedRef globals);
// A relation between sizes of which at least one is decided by this call's result, and none later.
bool decided_by(const SizeGuard& guard, const codegen::ExternStep& step,
                const codegen::Program& program);

}  // namespace numlift::frame_eval
