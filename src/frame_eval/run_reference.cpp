// The graph's runner works on copies of what is stored to. At the end, when nothing can fail any
// more, stored inputs are written back, and outputs that look at their memory are made views of it.
#include "run_reference.h"

#include "numlift/frame_eval/marks.h"
#include "numlift/numpy_shim/errstate.h"
#include "numlift/numpy_shim/numpy.h"
#include "numlift/numpy_shim/run_graph.h"
#include "numlift/py/py_error.h"
#include "drawn_states.h"
#include "overlap.h"
#include "run_frame.h"
#include "symbolic/extern_recipe.h"

namespace numlift::frame_eval {

Outcome run_reference(const Graph& graph, const std::vector<InputSpec>& inputs,
                      const std::vector<RecipeNode>& recipe, const std::vector<uint32_t>& results,
                      const std::vector<ExternRecipe>& externs, const guards::GuardSet& guards,
                      uint8_t fp_checks, const guards::CallInputs& call, PyObject* const* slots,
                      std::span<const int64_t> symbols, PyObject** results_out) {
  using numpy_shim::as_array;
  std::vector<Ref> objects;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    objects.push_back(Ref::create(slots[guards.input_slot(i)]));
  }
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].stored_to) continue;
    if (!has_distinct_elements(as_array(objects[i]))) return Outcome::kOverlap;
    for (uint32_t other = 0; other < inputs.size(); ++other) {
      if (other != i && inputs[other].kind == InputSpec::Kind::kArray &&
          may_overlap(as_array(objects[i]), as_array(objects[other]))) {
        return Outcome::kOverlap;
      }
    }
  }
  DrawnStates drawn;
  const auto call_by_recipe = [&](uint32_t index, const std::vector<Ref>& operands) {
    const Ref generator = generator_of(externs.at(index), call);
    drawn.before_draw(generator);
    return checked(call_extern(externs.at(index), operands, generator));
  };
  const std::vector<int64_t> sizes(symbols.begin(), symbols.end());
  numpy_shim::GraphRunner runner(graph, objects, sizes, call_by_recipe);
  std::vector<Ref> mutated;
  try {
    const numpy_shim::RaisingErrState raising(fp_checks);
    runner.run();
    for (NodeId id : graph.mutated_inputs) mutated.push_back(runner.value(id));
    for (NodeId id : graph.outputs) (void)runner.value(id);
  } catch (const PyError&) {
    if (must_reach_user()) return Outcome::kError;
    PyErr_Clear();
    drawn.restore();
    return Outcome::kRestart;
  }
  try {
    std::vector<Ref> values = runner.release();
    const auto is_view = [&](uint32_t i) {
      return op_info(graph.node(NodeId{i}).op).op_class == OpClass::kView;
    };
    for (size_t k = 0; k < mutated.size(); ++k) {
      const Node& buffer = graph.node(graph.buffer_of(graph.mutated_inputs[k]));
      const Ref& input = objects[attr_of<PlaceholderAttr>(buffer).input];
      check_status(PyArray_CopyInto(as_array(input), as_array(mutated[k])));
      values[index_of(graph.mutated_inputs[k])] = input;
      // Views were made of the copy.
      for (uint32_t i = 0; i < values.size(); ++i) {
        if (is_view(i)) values[i] = Ref();
      }
    }
    runner.adopt(std::move(values));
    const std::vector<std::vector<SizeExpr>> strides = shown_strides(recipe, graph.outputs.size());
    const std::vector<Ref> made = build_recipe(recipe, call, [&](uint32_t index) {
      return with_strides(runner.result(graph.outputs[index]), strides[index],
                          [&](const SizeExpr& size) { return runner.size(size); });
    });
    for (size_t i = 0; i < results.size(); ++i) results_out[i] = Ref(made[results[i]]).release();
    return Outcome::kDone;
  } catch (const PyError&) {
    return Outcome::kError;
  }
}

}  // namespace numlift::frame_eval
