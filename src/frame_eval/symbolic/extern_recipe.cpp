#include "symbolic/extern_recipe.h"

#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::frame_eval {

namespace {

Ref build(const ExternRecipe& recipe, uint32_t index, const std::vector<Ref>& operands,
          BorrowedRef generator) {
  if (recipe.generator == index) return Ref::create(generator);
  const RecipeNode& node = recipe.nodes[index];
  switch (node.kind) {
    case RecipeNode::Kind::kOutput:
      return operands[node.index];
    case RecipeNode::Kind::kConstant:
      return node.object;
    case RecipeNode::Kind::kTuple:
    case RecipeNode::Kind::kList: {
      const bool tuple = node.kind == RecipeNode::Kind::kTuple;
      const auto size = static_cast<Py_ssize_t>(node.children.size());
      Ref result = checked(tuple ? PyTuple_New(size) : PyList_New(size));
      for (Py_ssize_t i = 0; i < size; ++i) {
        Ref item = build(recipe, node.children[static_cast<size_t>(i)], operands, generator);
        if (tuple) {
          PyTuple_SET_ITEM(result.get(), i, item.release());
        } else {
          PyList_SET_ITEM(result.get(), i, item.release());
        }
      }
      return result;
    }
    case RecipeNode::Kind::kSlice: {
      Ref start = build(recipe, node.children[0], operands, generator);
      Ref stop = build(recipe, node.children[1], operands, generator);
      Ref step = build(recipe, node.children[2], operands, generator);
      return checked(PySlice_New(start.get(), stop.get(), step.get()));
    }
    case RecipeNode::Kind::kDict: {
      Ref result = checked(PyDict_New());
      for (size_t i = 0; i < node.children.size(); i += 2) {
        const Ref key = build(recipe, node.children[i], operands, generator);
        check_status(
            PyDict_SetItem(result.get(), key.get(),
                           build(recipe, node.children[i + 1], operands, generator).get()));
      }
      return result;
    }
    case RecipeNode::Kind::kGrownList:
    case RecipeNode::Kind::kSource:
    case RecipeNode::Kind::kSet:
    case RecipeNode::Kind::kNamedTuple:
    case RecipeNode::Kind::kCell:
    case RecipeNode::Kind::kFillCell:
    case RecipeNode::Kind::kRelease:
    case RecipeNode::Kind::kFunction:
    case RecipeNode::Kind::kCall:
      break;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

PyObject* call_extern(const ExternRecipe& recipe, const std::vector<Ref>& operands,
                      BorrowedRef generator) {
  try {
    std::vector<Ref> arguments;
    for (uint32_t index : recipe.arguments)
      arguments.push_back(build(recipe, index, operands, generator));
    std::vector<PyObject*> raw;
    for (const Ref& argument : arguments) raw.push_back(argument.get());
    const Py_ssize_t keywords =
        recipe.keyword_names ? PyTuple_GET_SIZE(recipe.keyword_names.get()) : 0;
    return PyObject_Vectorcall(recipe.callable.get(), raw.data(),
                               raw.size() - static_cast<size_t>(keywords),
                               recipe.keyword_names.get());
  } catch (const PyError&) {
    return nullptr;
  }
}

Ref generator_of(const ExternRecipe& recipe, const guards::CallInputs& call) {
  if (!recipe.generator) return {};
  const RecipeNode& node = recipe.nodes[*recipe.generator];
  return node.source ? Ref::create(node.source->read(call)) : node.object;
}

bool has_traced_structure(const ExternRecipe& recipe, BorrowedRef result) {
  for (const ExternRecipe::ResultPart& part : recipe.result_parts) {
    Ref at = Ref::create(result);
    for (int index : part.path) at = checked(PySequence_GetItem(at.get(), index));
    if (reinterpret_cast<PyObject*>(at.type()) != part.type.get()) return false;
    if (part.length >= 0 && PySequence_Size(at.get()) != part.length) return false;
  }
  return true;
}

}  // namespace numlift::frame_eval
