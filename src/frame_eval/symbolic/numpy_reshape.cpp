// reshape: when NumPy makes a view and when a copy, decided on symbolic sizes and strides.
#include <algorithm>

#include "numlift/py/py_error.h"
#include "symbolic/numpy_views.h"

namespace numlift::frame_eval {

namespace {

const std::string kReason = "whether a reshaped array is a view";

bool is_one(const SizeExpr& size) { return size.constant() == 1; }

// What one of the new dims is when it was given as -1: the quotient of two products.
SizeExpr missing_dim(Tracer& tracer, std::vector<SizeExpr> all,
                     const std::vector<SizeExpr>& known) {
  SizeExpr left = 1;
  for (const SizeExpr& dim : known) {
    if (tracer.decide_equal(dim, 0, "a reshape with -1 has no axis of size 0")) {
      throw_break("would_raise", "cannot reshape with an unknown dimension beside one of size 0");
    }
    const SizeExpr size = tracer.simplify(dim);
    const auto same = std::find(all.begin(), all.end(), size);
    if (same != all.end()) {
      all.erase(same);
    } else {
      left = left * size;
    }
  }
  SizeExpr total = 1;
  for (const SizeExpr& dim : all) total = total * dim;
  left = tracer.simplify(left);
  total = tracer.simplify(total);
  if (is_one(left)) return total;
  if (total == left) return 1;
  if (!tracer.decide_equal(SizeExpr::floor_mod(total, left), 0, "a reshape fits")) {
    throw_break("would_raise", "cannot reshape into the shape asked for");
  }
  return tracer.simplify(SizeExpr::floor_div(total, left));
}

// Whether there was a dim to complete.
bool complete_dims(Tracer& tracer, const std::vector<SizeExpr>& from, std::vector<SizeExpr>* dims) {
  std::optional<size_t> missing;
  std::vector<SizeExpr> known;
  for (size_t k = 0; k < dims->size(); ++k) {
    if (tracer.decide_less((*dims)[k], 0, "a dimension of reshape is not negative")) {
      if (missing) throw_break("would_raise", "can only specify one unknown dimension");
      missing = k;
    } else {
      (*dims)[k] = tracer.simplify((*dims)[k]);
      known.push_back((*dims)[k]);
    }
  }
  if (missing) {
    (*dims)[*missing] = missing_dim(tracer, from, known);
  } else if (!tracer.decide_equal(element_count(tracer, from), element_count(tracer, *dims),
                                  "a reshape keeps the number of elements")) {
    throw_break("would_raise", "cannot reshape into the shape asked for");
  }
  for (SizeExpr& dim : *dims) dim = tracer.simplify(dim);
  return missing.has_value();
}

// The view that only adds and removes axes of size 1. Strides as NumPy fills them in. Null when the
// other axes are not the same, one by one.
Sym add_remove_ones(Tracer& tracer, const ArrayValue& array, const std::vector<SizeExpr>& from,
                    const std::vector<SizeExpr>& dims) {
  std::vector<size_t> old_axes, new_axes;
  for (size_t k = 0; k < from.size(); ++k) {
    if (!is_one(from[k])) old_axes.push_back(k);
  }
  for (size_t k = 0; k < dims.size(); ++k) {
    if (!is_one(dims[k])) new_axes.push_back(k);
  }
  if (old_axes.size() != new_axes.size()) return nullptr;
  IndexMap map;
  for (size_t k = 0; k < from.size(); ++k) map.axes.push_back({0, 0, -1});
  std::vector<std::optional<SizeExpr>> known(dims.size());
  for (size_t i = 0; i < old_axes.size(); ++i) {
    if (!(from[old_axes[i]] == dims[new_axes[i]])) return nullptr;
    map.axes[old_axes[i]] = {0, 1, static_cast<int>(new_axes[i])};
    known[new_axes[i]] = array.strides[old_axes[i]];
  }
  // Ones before an axis continue it; ones after the last axis have its stride.
  std::vector<SizeExpr> strides(dims.size());
  SizeExpr last = item_size(array.type.dtype);
  if (!new_axes.empty()) last = *known[new_axes.back()];
  std::optional<SizeExpr> next;
  for (size_t k = dims.size(); k-- > 0;) {
    if (known[k]) {
      strides[k] = *known[k];
    } else {
      strides[k] = next ? *next : last;
    }
    if (known[k] || next) next = strides[k] * dims[k];
  }
  return view_of(tracer, array, std::move(map), dims, std::move(strides));
}

// NumPy's _attempt_nocopy_reshape in C order on an array that is not contiguous: could it be a
// view?
bool can_stay(Tracer& tracer, const ArrayValue& array, const std::vector<SizeExpr>& from,
              const std::vector<SizeExpr>& dims) {
  std::vector<SizeExpr> old_dims, old_strides;
  for (size_t k = 0; k < from.size(); ++k) {
    if (tracer.decide_equal(from[k], 1, kReason)) continue;
    old_dims.push_back(from[k]);
    old_strides.push_back(array.strides[k]);
  }
  size_t oi = 0, oj = 1, ni = 0, nj = 1;
  while (ni < dims.size() && oi < old_dims.size()) {
    SizeExpr np = dims[ni], op = old_dims[oi];
    while (!tracer.decide_equal(np, op, kReason)) {
      if (tracer.decide_less(np, op, kReason)) {
        if (nj >= dims.size()) throw_break("numpy_argument", "a reshape whose axes do not pair up");
        np = tracer.simplify(np * dims[nj++]);
      } else {
        if (oj >= old_dims.size())
          throw_break("numpy_argument", "a reshape whose axes do not pair up");
        op = tracer.simplify(op * old_dims[oj++]);
      }
    }
    for (size_t k = oi; k + 1 < oj; ++k) {
      if (!tracer.decide_equal(old_strides[k], old_dims[k + 1] * old_strides[k + 1], kReason))
        return false;
    }
    ni = nj++;
    oi = oj++;
  }
  return true;
}

std::vector<SizeExpr> contiguous(DType dtype, const std::vector<SizeExpr>& dims) {
  std::vector<SizeExpr> strides(dims.size());
  SizeExpr step = item_size(dtype);
  for (size_t k = dims.size(); k-- > 0;) {
    strides[k] = step;
    step = step * dims[k];
  }
  return strides;
}

Sym reshape_memory(Tracer& tracer, const ArrayValue& array, const std::vector<SizeExpr>& dims) {
  ViewStep step;
  step.op = Op::kReshape;
  step.type = array_type(array.type.dtype, dims);
  return tracer.new_view(array, std::move(step), contiguous(array.type.dtype, dims));
}

}  // namespace

Sym reshape_array(Tracer& tracer, const ArrayValue& array, std::vector<SizeExpr> dims, char order) {
  if (order == 'K') throw_break("would_raise", "order 'K' is not permitted for reshaping");
  const std::vector<SizeExpr> own = dims_of(tracer, array);
  if (order == 'A') {
    order = own.size() > 1 && !is_c_contiguous(tracer, array.type.dtype, own, array.strides) &&
                    is_f_contiguous(tracer, array.type.dtype, own, array.strides)
                ? 'F'
                : 'C';
  }
  if (order == 'F' && (own.size() > 1 || dims.size() > 1)) {
    // Fortran order is C order of everything turned round.
    std::reverse(dims.begin(), dims.end());
    const Sym turned = reverse_all_axes(tracer, array);
    const Sym shaped =
        reshape_array(tracer, static_cast<ArrayValue&>(*turned), std::move(dims), 'C');
    return reverse_all_axes(tracer, static_cast<ArrayValue&>(*shaped));
  }
  const bool was_open = complete_dims(tracer, own, &dims);
  const std::vector<SizeExpr> from = dims_of(tracer, array);
  // NumPy looks for the same shape before it completes it: strides of axes of size 1 tell.
  if (from == dims && !was_open) return same_view(tracer, array);
  if (Sym view = add_remove_ones(tracer, array, from, dims)) return view;
  if (is_c_contiguous(tracer, array.type.dtype, from, array.strides)) {
    return reshape_memory(tracer, array, dims);
  }
  if (can_stay(tracer, array, from, dims)) {
    // Perhaps the sizes are equal for all that is known by now.
    const std::vector<SizeExpr> now = dims_of(tracer, array);
    for (SizeExpr& dim : dims) dim = tracer.simplify(dim);
    if (Sym view = add_remove_ones(tracer, array, now, dims)) return view;
    throw_break("numpy_argument", "a reshape that splits or joins axes of a strided view");
  }
  const Sym copy = copy_array(tracer, array, 'C');
  return reshape_memory(tracer, static_cast<ArrayValue&>(*copy), dims);
}

}  // namespace numlift::frame_eval
