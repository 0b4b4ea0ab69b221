// Inputs for a graph: symbol values scaled from their hints, arrays filled with harmless numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "numlift/graph/graph.h"
#include "support/graph_eval.h"

namespace numlift::testing {

struct TestInputs {
  std::vector<int64_t> symbols;
  std::vector<EvalArray> arrays;  // by input number
};

inline int64_t evaluate_size(const SizeExpr& size, const std::vector<int64_t>& symbols) {
  return size.evaluate(symbols).value_or(-1);
}

// Some node would have a negative dim: no run has these sizes.
inline bool has_negative_dim(const Graph& graph, const std::vector<int64_t>& symbols) {
  for (const Node& node : graph.nodes()) {
    for (const SizeExpr& dim : node.type.dims) {
      if (evaluate_size(dim, symbols) < 0) return true;
    }
  }
  return false;
}

// Dims from `dims` (by symbol), strides with gaps, everything else as while tracing.
inline std::vector<int64_t> make_symbols(const Graph& graph, const std::vector<int64_t>& dims) {
  std::vector<int64_t> symbols = graph.symbol_hints();
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (graph.symbols[i].kind == SymbolKind::kDim) symbols[i] = dims[i];
  }
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::kPlaceholder || node.type.value_kind != ValueKind::kArray) continue;
    int64_t stride = 2 * item_size(node.type.dtype);
    const auto& strides = attr_of<PlaceholderAttr>(node).strides;
    for (size_t axis = strides.size(); axis > 0; --axis) {
      const auto symbol = strides[axis - 1].as_symbol();
      if (!symbol || graph.symbols[static_cast<size_t>(*symbol)].kind != SymbolKind::kStride) break;
      symbols[static_cast<size_t>(*symbol)] = stride;
      stride *= evaluate_size(node.type.dims[axis - 1], symbols) + 1;
    }
  }
  return symbols;
}

inline ScalarBits random_scalar(DType dtype, std::mt19937_64* random) {
  const double number = std::uniform_real_distribution<double>(0.5, 2.0)(*random);
  const int64_t integer = std::uniform_int_distribution<int64_t>(1, 9)(*random);
  return with_ctype(dtype, [&](auto like) {
    using T = decltype(like);
    if constexpr (std::is_same_v<T, bool>) {
      return make_scalar<bool>(dtype, integer > 4);
    } else if constexpr (std::is_same_v<T, Half>) {
      return make_scalar<uint16_t>(dtype, double_to_half(number));
    } else if constexpr (std::is_integral_v<T>) {
      return make_scalar<T>(dtype, static_cast<T>(integer));
    } else {
      return make_scalar<T>(dtype, T(static_cast<float>(number)));
    }
  });
}

// With room around views of any stride sign; memory is zeroed where no element lies.
inline EvalArray make_strided(DType dtype, std::vector<int64_t> dims,
                              std::vector<int64_t> strides) {
  int64_t low = 0, high = item_size(dtype);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t span = strides[i] * std::max<int64_t>(dims[i] - 1, 0);
    (span < 0 ? low : high) += span;
  }
  EvalArray array{dtype, std::move(dims), std::move(strides), nullptr, nullptr};
  array.owned = std::make_shared<std::vector<char>>(static_cast<size_t>(high - low), '\0');
  array.origin = array.owned->data() - low;
  return array;
}

inline TestInputs make_inputs(const Graph& graph, std::vector<int64_t> symbols, uint64_t seed) {
  TestInputs inputs;
  inputs.symbols = std::move(symbols);
  std::mt19937_64 random(seed);
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::kPlaceholder) continue;
    const PlaceholderAttr& attr = attr_of<PlaceholderAttr>(node);
    if (inputs.arrays.size() <= attr.input) inputs.arrays.resize(attr.input + 1);
    std::vector<int64_t> dims, strides;
    for (const SizeExpr& dim : node.type.dims) dims.push_back(evaluate_size(dim, inputs.symbols));
    for (const SizeExpr& stride : attr.strides) {
      strides.push_back(evaluate_size(stride, inputs.symbols));
    }
    EvalArray array = make_strided(node.type.dtype, dims, strides);
    for_each_index(dims,
                   [&](auto index) { array.store(index, random_scalar(array.dtype, &random)); });
    inputs.arrays[attr.input] = std::move(array);
  }
  return inputs;
}

// The same contents in other memory of the same layout.
inline TestInputs clone_inputs(const TestInputs& inputs) {
  TestInputs clone = inputs;
  for (EvalArray& array : clone.arrays) {
    if (!array.owned) continue;
    const auto offset = array.origin - array.owned->data();
    array.owned = std::make_shared<std::vector<char>>(*array.owned);
    array.origin = array.owned->data() + offset;
  }
  return clone;
}

}  // namespace numlift::testing
