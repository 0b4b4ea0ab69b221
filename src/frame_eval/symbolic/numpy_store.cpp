#include "symbolic/numpy_store.h"

#include "numlift/numpy_shim/dtypes.h"
#include "numlift/numpy_shim/numpy.h"
#include "symbolic/numpy_creation.h"
#include "symbolic/numpy_extern.h"
#include "symbolic/numpy_scatter.h"
#include "symbolic/numpy_handlers.h"
#include "symbolic/numpy_indexing.h"
#include "symbolic/pure.h"

namespace numlift::frame_eval {

namespace {

const std::string kReason = "an assigned value has its target's shape";

bool same_memory(Tracer& tracer, const ArrayValue& a, const ArrayValue& b) {
  if (a.storage != b.storage || a.chain.size() != b.chain.size()) return false;
  for (size_t k = 0; k < a.chain.size(); ++k) {
    const ViewStep &x = a.chain[k], &y = b.chain[k];
    if (x.op != y.op || x.type.dtype != y.type.dtype || x.type.rank() != y.type.rank())
      return false;
    const auto same = [&](const SizeExpr& p, const SizeExpr& q) {
      return tracer.simplify(p) == tracer.simplify(q);
    };
    for (size_t i = 0; i < x.type.dims.size(); ++i) {
      if (!same(x.type.dims[i], y.type.dims[i])) return false;
    }
    if (x.op != Op::kView) {
      if (!(x.attr == y.attr)) return false;
      continue;
    }
    const auto &p = std::get<ViewAttr>(x.attr).map.axes, &q = std::get<ViewAttr>(y.attr).map.axes;
    for (size_t i = 0; i < p.size(); ++i) {
      if (p[i].axis != q[i].axis || !same(p[i].start, q[i].start) || !same(p[i].step, q[i].step))
        return false;
    }
  }
  return true;
}

// `node` broadcast to exactly `dims`; axes in front that have size 1 are dropped, as NumPy does.
NodeId fit(Tracer& tracer, NodeId node, const std::vector<SizeExpr>& target) {
  const Type type = tracer.type_of(node);
  if (type.dims.empty()) return node;
  std::vector<SizeExpr> dims = type.dims;
  if (dims.size() > target.size()) {
    const size_t extra = dims.size() - target.size();
    IndexMap map;
    std::vector<SizeExpr> kept;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (k >= extra) {
        map.axes.push_back({0, 1, static_cast<int>(kept.size())});
        kept.push_back(dims[k]);
      } else if (tracer.decide_equal(dims[k], 1, kReason)) {
        map.axes.push_back({0, 0, -1});
      } else {
        throw_break("would_raise", "could not broadcast the assigned array");
      }
    }
    node = tracer.append(Op::kView, {node}, ViewAttr{std::move(map)}, array_type(type.dtype, kept));
    dims = std::move(kept);
  }
  const size_t offset = target.size() - dims.size();
  for (size_t k = 0; k < dims.size(); ++k) {
    if (tracer.decide_equal(dims[k], target[offset + k], kReason)) continue;
    if (!tracer.decide_equal(dims[k], 1, kReason)) {
      throw_break("would_raise", "could not broadcast the assigned array");
    }
  }
  return broadcast_node(tracer, node, target);
}

// x[mask] = value where value is the same for all masked places: the others keep what they have.
void assign_masked(Tracer& tracer, ArrayValue& target, const ArrayValue& mask,
                   const Operand& value) {
  static const std::string reason = "a mask has the shape of what it selects from";
  const std::vector<SizeExpr> dims = dims_of(tracer, target), mask_dims = dims_of(tracer, mask);
  if (mask_dims.size() > dims.size()) throw_break("would_raise", "too many indices for array");
  for (size_t k = 0; k < mask_dims.size(); ++k) {
    if (!tracer.decide_equal(mask_dims[k], dims[k], reason)) {
      throw_break("would_raise", "boolean index did not match indexed array");
    }
  }
  IndexMap map;
  for (size_t k = 0; k < mask_dims.size(); ++k) map.axes.push_back({0, 1, static_cast<int>(k)});
  const std::vector<SizeExpr> now = dims_of(tracer, target);
  NodeId where = tracer.read(mask);
  if (mask_dims.size() < dims.size()) {
    where =
        tracer.append(Op::kView, {where}, ViewAttr{std::move(map)}, array_type(DType::kBool, now));
  }
  const DType dtype = target.type.dtype;
  const NodeId chosen =
      elementwise(tracer, Op::kSelect,
                  {where, assigned_node(tracer, value, dtype), tracer.read(target)}, dtype);
  tracer.store(target, chosen);
}

}  // namespace

NodeId assigned_node(Tracer& tracer, const Operand& value, DType dtype) {
  const DType from = value.type.dtype;
  if (is_complex(from) && !is_complex(dtype) && (dtype != DType::kBool || value.type.weak)) {
    throw_break("would_raise", "a complex number is assigned to a real array");
  }
  if (!value.constant && value.type.weak && from == DType::kFloat64 && is_integer(dtype)) {
    // int() of a Python float raises whatever np.errstate says.
    const ScopedFpChecks all(tracer, kFpAll);
    return cast_operand(tracer, value, dtype);
  }
  return cast_operand(tracer, value, dtype);
}

void assign(Tracer& tracer, ArrayValue& target, const Sym& content, bool one_element) {
  if (!target.writeable) throw_break("would_raise", "assignment destination is read-only");
  if (const ArrayValue* from = as_array(content)) {
    if (same_memory(tracer, *from, target))
      return;  // x[1:] += y stores back what it stored already
  }
  const DType dtype = target.type.dtype;
  std::optional<Operand> value;
  if (sequence_items(tracer, content)) {
    if (one_element) throw_break("would_raise", "setting an array element with a sequence.");
    value = find_operand(tracer, array_from_sequence(tracer, content, dtype));
  } else {
    value = find_operand(tracer, content);
  }
  if (!value) throw_value_break(content, "an assigned object that is not an array or number");
  if (one_element && value->rank() > 0) {
    throw_break("numpy_argument", "an array is assigned to one element");
  }
  const NodeId node = assigned_node(tracer, *value, dtype);
  tracer.store(target, fit(tracer, node, dims_of(tracer, target)));
}

namespace {

void set_item(Tracer& tracer, const Sym& value, const Sym& key, const Sym& content) {
  ArrayValue* array = as_array(value);
  if (array == nullptr) throw_break("would_raise", "item assignment to a NumPy scalar");
  const IndexKey parsed = parse_index(tracer, key);
  switch (parsed.kind) {
    case IndexKey::Kind::kBasic: {
      bool element = false;
      const Sym target = basic_view(tracer, *array, parsed, &element);
      assign(tracer, static_cast<ArrayValue&>(*target), content, element);
      return;
    }
    case IndexKey::Kind::kMask:
      if (!array->writeable) throw_break("would_raise", "assignment destination is read-only");
      if (const auto one = find_operand(tracer, content); one && one->rank() == 0) {
        assign_masked(tracer, *array, *as_array(parsed.items[0]), *one);
      } else if (!one || !scatter_by_mask(tracer, *array, *as_array(parsed.items[0]), *one)) {
        set_item_by_numpy(tracer, value, key, content);
      }
      return;
    case IndexKey::Kind::kAdvanced:
      if (!array->writeable) throw_break("would_raise", "assignment destination is read-only");
      if (const auto one = find_operand(tracer, content)) {
        const auto places = indexed_places(tracer, *array, parsed);
        // Where a place is named twice, the order counts.
        if (places && (one->rank() == 0 || places->at.size() == 1)) {
          const NodeId node = assigned_node(tracer, *one, array->type.dtype);
          scatter(tracer, *array, *places, fit(tracer, node, places->dims), std::nullopt);
          return;
        }
      }
      set_item_by_numpy(tracer, value, key, content);
      return;
  }
  NUMLIFT_UNREACHABLE();
}

}  // namespace

void numpy_set_item(Tracer& tracer, const Sym& value, const Sym& key, const Sym& content) {
  tracer.operation([] { return "numpy.ndarray.__setitem__"; },
                   [&] {
                     set_item(tracer, value, key, content);
                     return true;
                   });
}

// ---------------------------------------------------------------- functions

Sym call_copyto(Tracer& tracer, const NumpyArguments& arguments) {
  ArrayValue* target = as_array(arguments.get("dst"));
  if (target == nullptr) throw_break("would_raise", "copyto: the destination is not an array");
  if (!target->writeable) throw_break("would_raise", "assignment destination is read-only");
  const std::string casting = casting_argument(tracer, arguments.get("casting"), "same_kind");
  const Operand source = as_operand(tracer, arguments.get("src"), "copyto");
  const DType dtype = target->type.dtype;
  if (source.type.weak ? casting != "same_kind" && casting != "unsafe"
                       : !numpy_shim::can_cast(source.type.dtype, dtype, casting.c_str())) {
    throw_break("would_raise", "copyto: cannot cast");
  }
  if (source.type.weak) {
    const OperandType both[] = {source.type, {dtype, false}};
    if (casting == "same_kind" && numpy_shim::result_type(both) != dtype) {
      throw_break("would_raise", "copyto: cannot cast");
    }
  }
  NodeId node = fit(tracer, assigned_node(tracer, source, dtype), dims_of(tracer, *target));
  const Sym where = arguments.get("where");
  if (where != nullptr && constant_number(where).get() != Py_True) {
    const Operand mask = as_operand(tracer, where, "copyto");
    if (mask.type.dtype != DType::kBool) throw_break("would_raise", "copyto: where= is not bool");
    const std::vector<SizeExpr> dims = dims_of(tracer, *target);
    const std::vector<SizeExpr> both[] = {mask.dims, dims};
    if (!same_dims(tracer, broadcast_dims(tracer, both, "copyto"), dims, "copyto")) {
      throw_break("would_raise", "copyto: where= does not broadcast");
    }
    const NodeId choose =
        broadcast_node(tracer, cast_operand(tracer, mask, DType::kBool), dims_of(tracer, *target));
    node = elementwise(tracer, Op::kSelect, {choose, node, tracer.read(*target)}, dtype);
  }
  tracer.store(*target, node);
  return tracer.constant(Ref::create(Py_None));
}

// putmask(a, mask, values) where values repeats by nothing: the same as a[mask] = values[mask].
Sym call_putmask(Tracer& tracer, const NumpyArguments& arguments) {
  ArrayValue* target = as_array(arguments.get("a"));
  const Operand mask = as_operand(tracer, arguments.get("mask"), "putmask");
  const Operand value = as_operand(tracer, arguments.get("values"), "putmask");
  if (target == nullptr || mask.type.dtype != DType::kBool || !mask.is_array) {
    throw_break("numpy_argument", "putmask of these arguments");
  }
  if (!target->writeable) throw_break("would_raise", "assignment destination is read-only");
  const auto dims = dims_of(tracer, *target);
  const bool same = same_dims(tracer, dims, mask.dims, "putmask") &&
                    (value.rank() == 0 || same_dims(tracer, dims, value.dims, "putmask"));
  if (!same ||
      (!value.type.weak && !numpy_shim::can_cast(value.type.dtype, target->type.dtype, "safe"))) {
    throw_break("numpy_argument", "putmask that repeats or casts its values");
  }
  const std::vector<SizeExpr> now = dims_of(tracer, *target);
  const DType dtype = target->type.dtype;
  const NodeId node =
      elementwise(tracer, Op::kSelect,
                  {broadcast_node(tracer, cast_operand(tracer, mask, DType::kBool), now),
                   broadcast_node(tracer, assigned_node(tracer, value, dtype), now),
                   broadcast_node(tracer, tracer.read(*target), now)},
                  dtype);
  tracer.store(*target, node);
  return tracer.constant(Ref::create(Py_None));
}

Sym call_fill_diagonal(Tracer& tracer, const NumpyArguments& arguments) {
  ArrayValue* array = as_array(arguments.get("a"));
  if (array == nullptr || array->type.rank() != 2)
    throw_break("numpy_argument", "fill_diagonal of this rank");
  if (constant_bool(tracer, arguments.get("wrap"), "fill_diagonal").value_or(false)) {
    throw_break("numpy_argument", "fill_diagonal with wrap=");
  }
  const Operand value = as_operand(tracer, arguments.get("val"), "fill_diagonal");
  if (value.rank() > 0) throw_break("numpy_argument", "fill_diagonal with several values");
  const Sym line = diagonal_view(tracer, *array, 0, 0, 1);
  assign(tracer, static_cast<ArrayValue&>(*line), arguments.get("val"));
  return tracer.constant(Ref::create(Py_None));
}

Sym call_fill(Tracer& tracer, const NumpyArguments& arguments) {
  ArrayValue* target = as_array(arguments.get("a"));
  if (target == nullptr) throw_break("numpy_argument", "fill of a NumPy scalar");
  assign(tracer, *target, arguments.get("value"), true);
  return tracer.constant(Ref::create(Py_None));
}

}  // namespace numlift::frame_eval
