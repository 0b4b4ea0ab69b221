// The sample graphs, each as the tracer would capture it.
#include "codegen/sample_graphs.h"

namespace numlift::testing {
namespace {

// Inputs with symbolic dims, and the few NumPy functions that the samples are made of.
class Sample : public GraphBuilder {
 public:
  explicit Sample(const char* name) : GraphBuilder(name) {}

  SizeExpr dim(int64_t hint) { return symbol(SymbolKind::kDim, next_, axis_++, hint); }
  // C contiguous, of new symbolic dims.
  NodeId array(std::vector<int64_t> hints, DType dtype = DType::kFloat64) {
    std::vector<SizeExpr> dims;
    axis_ = 0;
    for (int64_t hint : hints) dims.push_back(dim(hint));
    ++next_;
    return placeholder(dtype, dims);
  }
  // Another of the same dims.
  NodeId like(NodeId other) {
    ++next_;
    return placeholder(type(other).dtype, type(other).dims);
  }
  NodeId strided_like(NodeId other, std::vector<int64_t> hints) {
    std::vector<SizeExpr> strides;
    uint32_t axis = 0;
    for (int64_t hint : hints) strides.push_back(symbol(SymbolKind::kStride, next_, axis++, hint));
    ++next_;
    return placeholder(type(other).dtype, type(other).dims, strides);
  }
  NodeId of_dims(std::vector<SizeExpr> dims, DType dtype = DType::kFloat64) {
    ++next_;
    return placeholder(dtype, std::move(dims));
  }
  NodeId scalar() {
    ++next_;
    return scalar_placeholder(py_scalar_type(DType::kFloat64));
  }
  const SizeExpr& size_of(NodeId id, size_t axis) { return type(id).dims[axis]; }

  NodeId add(NodeId a, NodeId b) { return elementwise(Op::kAdd, {a, b}); }
  NodeId sub(NodeId a, NodeId b) { return elementwise(Op::kSubtract, {a, b}); }
  NodeId mul(NodeId a, NodeId b) { return elementwise(Op::kMultiply, {a, b}); }
  NodeId div(NodeId a, NodeId b) { return elementwise(Op::kDivide, {a, b}); }
  NodeId square(NodeId a) { return elementwise(Op::kSquare, {a}); }
  NodeId unary(Op op, NodeId a) { return elementwise(op, {a}); }
  NodeId number(double value) { return constant(value); }
  NodeId divide_by_size(NodeId total, const SizeExpr& count) {
    return div(total, cast(size(count), DType::kFloat64));
  }
  NodeId mean(NodeId a, int axis) {
    return divide_by_size(reduce(Op::kReduceSum, a, {axis}), size_of(a, static_cast<size_t>(axis)));
  }
  // a[:, None] and the like.
  NodeId new_axis(NodeId a, int at) {
    IndexMap map;
    std::vector<SizeExpr> dims = type(a).dims;
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
      map.axes.push_back({0, 1, i < at ? i : i + 1});
    }
    dims.insert(dims.begin() + at, SizeExpr(1));
    return view(a, std::move(map), std::move(dims));
  }
  // a[begin : size - end] along an axis.
  NodeId inner(NodeId a, int axis, int64_t begin, int64_t end) {
    return slice(a, axis, begin, 1, size_of(a, static_cast<size_t>(axis)) - (begin + end));
  }
  NodeId reversed(NodeId a) { return slice(a, 0, size_of(a, 0) - 1, -1, size_of(a, 0)); }
  NodeId item(NodeId a, int axis, SizeExpr at) {
    IndexMap map;
    std::vector<SizeExpr> dims;
    for (int i = 0; i < type(a).rank(); ++i) {
      if (i == axis) {
        map.axes.push_back({at, 0, -1});
      } else {
        map.axes.push_back({0, 1, static_cast<int>(dims.size())});
        dims.push_back(size_of(a, static_cast<size_t>(i)));
      }
    }
    return view(a, std::move(map), std::move(dims));
  }
  void line(int number) { set_location({"user.py", "f", number}); }

 private:
  uint32_t next_ = 0, axis_ = 0;
};

std::vector<SampleGraph> make_samples() {
  std::vector<SampleGraph> samples;
  auto sample = [&](const char* name, auto fill) {
    samples.push_back({name, [name, fill] {
                         Sample s(name);
                         s.set_fp_checks(kFpAll);
                         s.line(3);
                         fill(s);
                         return s.finish();
                       }});
  };

  // ---- elementwise
  sample("add", [](Sample& s) {
    NodeId a = s.array({1024});
    s.output(s.add(a, s.like(a)));
  });
  sample("add_2d", [](Sample& s) {
    NodeId a = s.array({100, 60});
    s.output(s.add(a, s.like(a)));
  });
  sample("add_strided", [](Sample& s) {
    NodeId a = s.array({100, 60});
    s.output(s.add(a, s.strided_like(a, {960, 16})));
  });
  sample("add_transposed", [](Sample& s) {
    NodeId a = s.array({90, 90});
    NodeId b = s.of_dims({s.size_of(a, 1), s.size_of(a, 0)});
    s.output(s.add(a, s.transpose(b, std::vector<int>{1, 0})));
  });
  sample("sin_cos", [](Sample& s) {
    NodeId x = s.array({1000}), y = s.like(x);
    NodeId sine = s.square(s.unary(Op::kSin, x));
    NodeId cosine = s.square(s.unary(Op::kCos, x));
    s.output(s.add(sine, s.mul(cosine, y)));
  });
  sample("row_and_column", [](Sample& s) {
    NodeId a = s.array({50, 40});
    NodeId row = s.of_dims({s.size_of(a, 1)}), column = s.of_dims({s.size_of(a, 0)});
    s.output(s.mul(s.add(a, row), s.new_axis(column, 1)));
  });
  sample("two_outputs", [](Sample& s) {
    NodeId x = s.array({500});
    s.output(s.unary(Op::kSin, x));
    s.line(4);
    s.output(s.unary(Op::kCos, x));
  });
  sample("shared_dear_value", [](Sample& s) {
    NodeId x = s.array({30, 40});
    NodeId e = s.unary(Op::kExp, x);
    s.output(s.add(e, s.number(1.0)));
    s.output(s.mul(e, x));
  });
  sample("zero_dim", [](Sample& s) {
    NodeId x = s.of_dims({});
    s.output(s.add(x, s.number(2.0)));
    NodeId y = s.array({10});
    s.output(s.item(y, 0, 3));
  });
  sample("scalars", [](Sample& s) {
    NodeId x = s.array({200});
    NodeId dt = s.scalar();
    s.output(s.mul(x, s.unary(Op::kSqrt, s.mul(dt, s.number(2.0)))));
    s.output(s.size(s.size_of(x, 0)));
    s.output(s.mul(dt, dt));
  });
  sample("select_less", [](Sample& s) {
    NodeId x = s.array({64}), y = s.like(x);
    s.output(s.select(s.elementwise(Op::kLess, {x, y}), x, s.number(0.5)));
  });

  // ---- reductions
  sample("sum_all",
         [](Sample& s) { s.output(s.reduce(Op::kReduceSum, s.array({300, 20}), {0, 1})); });
  sample("sum_strided", [](Sample& s) {
    NodeId a = s.array({30, 20});
    s.output(s.reduce(Op::kReduceSum, s.strided_like(a, {800, 16}), {0, 1}));
  });
  sample("argmax_all",
         [](Sample& s) { s.output(s.reduce(Op::kReduceArgmax, s.array({30, 20}), {0, 1})); });
  sample("argmin_axis", [](Sample& s) {
    NodeId a = s.array({30, 20});
    s.output(s.reduce(Op::kReduceArgmin, a, {0}));
    s.output(s.reduce(Op::kReduceArgmin, a, {1}));
  });
  sample("mean_axis_0", [](Sample& s) { s.output(s.mean(s.array({100, 60}), 0)); });
  sample("mean_axis_1", [](Sample& s) { s.output(s.mean(s.array({100, 60}), 1)); });
  sample("variance_axis_1", [](Sample& s) {
    NodeId x = s.array({100, 60});
    NodeId centred = s.sub(x, s.new_axis(s.mean(x, 1), 1));
    s.output(s.mean(s.square(centred), 1));
  });
  sample("variance_axis_0", [](Sample& s) {
    NodeId x = s.array({100, 60});
    s.output(s.mean(s.square(s.sub(x, s.mean(x, 0))), 0));
  });
  sample("centre_all", [](Sample& s) {
    NodeId x = s.array({100, 60});
    NodeId total = s.reduce(Op::kReduceSum, x, {0, 1});
    s.output(s.sub(x, s.divide_by_size(total, s.size_of(x, 0) * s.size_of(x, 1))));
  });
  sample("sum_and_squares", [](Sample& s) {
    NodeId x = s.array({1000});
    s.output(s.reduce(Op::kReduceSum, x, {0}));
    s.output(s.reduce(Op::kReduceSum, s.square(x), {0}));
  });
  // np.sum(X[:, :, None] * Y[:, None, :], axis=(-2, -1))
  sample("faq_outer_sum", [](Sample& s) {
    NodeId x = s.array({1000, 10});
    NodeId y = s.of_dims({s.size_of(x, 0), s.symbol(SymbolKind::kDim, 1, 1, 20)});
    s.output(s.reduce(Op::kReduceSum, s.mul(s.new_axis(x, 2), s.new_axis(y, 1)), {1, 2}));
  });
  sample("sum_middle_axis",
         [](Sample& s) { s.output(s.reduce(Op::kReduceSum, s.array({8, 9, 10}), {1})); });
  sample("short_rows", [](Sample& s) {
    NodeId p = s.array({1000, 3});
    NodeId squares = s.reduce(Op::kReduceSum, s.square(p), {1});
    s.output(s.div(p, s.new_axis(s.unary(Op::kSqrt, squares), 1)));
  });

  // ---- rows
  sample("softmax", [](Sample& s) {
    NodeId x = s.array({128, 50});
    s.line(1);
    NodeId top = s.new_axis(s.reduce(Op::kReduceMax, x, {1}), 1);
    s.line(2);
    NodeId e = s.unary(Op::kExp, s.sub(x, top));
    s.line(3);
    s.output(s.div(e, s.new_axis(s.reduce(Op::kReduceSum, e, {1}), 1)));
  });
  sample("layer_norm", [](Sample& s) {
    NodeId x = s.array({128, 50});
    NodeId centred = s.sub(x, s.new_axis(s.mean(x, 1), 1));
    NodeId variance = s.mean(s.square(centred), 1);
    NodeId scale = s.unary(Op::kSqrt, s.add(variance, s.number(1e-5)));
    s.output(s.div(centred, s.new_axis(scale, 1)));
  });
  sample("softmax_3d", [](Sample& s) {
    NodeId x = s.array({4, 6, 10});
    NodeId top = s.new_axis(s.reduce(Op::kReduceMax, x, {2}), 2);
    NodeId e = s.unary(Op::kExp, s.sub(x, top));
    s.output(s.div(e, s.new_axis(s.reduce(Op::kReduceSum, e, {2}), 2)));
  });
  sample("softmax_axis_0", [](Sample& s) {
    NodeId x = s.array({20, 30});
    NodeId e = s.unary(Op::kExp, s.sub(x, s.reduce(Op::kReduceMax, x, {0})));
    s.output(s.div(e, s.reduce(Op::kReduceSum, e, {0})));
  });

  // ---- views, stencils, stores
  sample("stencil", [](Sample& s) {
    NodeId u = s.array({200, 100});
    NodeId mid = s.inner(s.inner(u, 0, 1, 1), 1, 1, 1);
    NodeId up = s.inner(s.inner(u, 0, 0, 2), 1, 1, 1), down = s.inner(s.inner(u, 0, 2, 0), 1, 1, 1);
    NodeId left = s.inner(s.inner(u, 0, 1, 1), 1, 0, 2);
    NodeId right = s.inner(s.inner(u, 0, 1, 1), 1, 2, 0);
    NodeId sum = s.add(s.add(up, down), s.add(left, right));
    s.output(s.sub(sum, s.mul(s.number(4.0), mid)));
  });
  sample("store_stencil", [](Sample& s) {
    NodeId u = s.array({200}), v = s.like(u);
    NodeId value = s.mul(s.number(0.5), s.add(s.inner(v, 0, 0, 2), s.inner(v, 0, 2, 0)));
    s.store(s.inner(u, 0, 1, 1), value);
  });
  sample("store_shifted", [](Sample& s) {
    NodeId x = s.array({200});
    s.output(s.store(s.inner(x, 0, 1, 0), s.inner(x, 0, 0, 1)));
  });
  sample("store_reversed", [](Sample& s) {
    NodeId x = s.array({50});
    s.store(s.reversed(x), x);
  });
  sample("store_in_place", [](Sample& s) {
    NodeId x = s.array({20, 30});
    s.store(x, s.mul(x, s.number(2.0)));
  });
  sample("store_rows_by_mean", [](Sample& s) {
    NodeId x = s.array({20, 30});
    s.store(x, s.sub(x, s.new_axis(s.mean(x, 1), 1)));
  });
  sample("stores_then_read", [](Sample& s) {
    NodeId x = s.array({100});
    NodeId old = s.add(x, s.number(1.0));
    NodeId x1 = s.store(s.inner(x, 0, 0, 1), s.number(0.0));
    NodeId x2 = s.store(s.item(x1, 0, 5), s.number(7.0));
    s.output(s.mul(old, x2));
  });
  sample("swap_items", [](Sample& s) {
    NodeId x = s.array({10});
    NodeId a = s.copy(s.item(x, 0, 0)), b = s.copy(s.item(x, 0, 1));
    NodeId x1 = s.store(s.item(x, 0, 0), b);
    s.store(s.item(x1, 0, 1), a);
  });
  sample("concatenate", [](Sample& s) {
    NodeId a = s.array({30, 5});
    NodeId b = s.of_dims({s.symbol(SymbolKind::kDim, 1, 0, 20), s.size_of(a, 1)});
    NodeId doubled = s.mul(a, s.number(2.0));
    const SizeExpr n = s.size_of(a, 0), m = s.size_of(b, 0);
    NodeId out = s.empty(DType::kFloat64, {n + m, s.size_of(a, 1)});
    NodeId out1 = s.store(s.slice(out, 0, 0, 1, n), doubled);
    s.output(s.store(s.slice(out1, 0, n, 1, m), b));
  });
  sample("stack", [](Sample& s) {
    NodeId a = s.array({30}), b = s.like(a);
    NodeId out = s.empty(DType::kFloat64, {2, s.size_of(a, 0)});
    NodeId out1 = s.store(s.item(out, 0, 0), s.add(a, b));
    s.output(s.store(s.item(out1, 0, 1), s.sub(a, b)));
  });
  sample("reshape_chain", [](Sample& s) {
    NodeId x = s.array({12, 10});
    NodeId flat = s.reshape(s.mul(x, s.number(2.0)), {s.size_of(x, 0) * s.size_of(x, 1)});
    NodeId back = s.reshape(s.add(flat, s.number(1.0)), {s.size_of(x, 1), s.size_of(x, 0)});
    s.output(s.unary(Op::kNegative, back));
  });
  sample("reshape_transposed", [](Sample& s) {
    NodeId x = s.array({12, 10});
    NodeId flat =
        s.reshape(s.transpose(x, std::vector<int>{1, 0}), {s.size_of(x, 0) * s.size_of(x, 1)});
    s.output(s.add(flat, s.number(1.0)));
  });
  sample("views_returned", [](Sample& s) {
    NodeId x = s.array({12, 10});
    s.output(x);
    s.output(s.transpose(x, std::vector<int>{1, 0}));
    NodeId y = s.add(x, s.number(1.0));
    s.output(s.reversed(y));
    s.output(s.reshape(y, {s.size_of(x, 0) * s.size_of(x, 1)}));
  });
  sample("stencil_of_stencil", [](Sample& s) {
    NodeId u = s.array({200});
    NodeId flux = s.mul(s.sub(s.inner(u, 0, 1, 0), s.inner(u, 0, 0, 1)), s.number(0.5));
    s.output(s.sub(s.inner(flux, 0, 1, 0), s.inner(flux, 0, 0, 1)));
  });
  sample("row_neighbours", [](Sample& s) {
    NodeId u = s.array({50, 40});
    NodeId e = s.unary(Op::kExp, u);
    s.output(s.add(s.inner(e, 1, 2, 0), s.inner(e, 1, 0, 2)));
  });
  sample("iota_powers", [](Sample& s) {
    NodeId x = s.array({20, 30});
    NodeId position = s.cast(s.iota(s.type(x).dims, 1), DType::kFloat64);
    s.output(s.mul(x, position));
  });
  sample("complex_parts", [](Sample& s) {
    NodeId z = s.array({40}, DType::kComplex128);
    s.output(s.add(s.part(z, false), s.part(z, true)));
    s.store(s.part(z, true), s.number(0.0));
  });
  sample("unused_check", [](Sample& s) {
    NodeId x = s.array({40}), y = s.like(x);
    s.div(x, y);
    s.output(s.inner(s.div(y, x), 0, 1, 1));
    s.output(s.add(s.inner(s.mul(x, y), 0, 0, 20), s.number(1.0)));
  });
  return samples;
}

}  // namespace

const std::vector<SampleGraph>& sample_graphs() {
  static const std::vector<SampleGraph> samples = make_samples();
  return samples;
}

}  // namespace numlift::testing
