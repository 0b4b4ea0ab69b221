// Every op and every reduction of every dtype on the fake device: results equal the reference
// evaluator's, and a run restarts exactly where that says so.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <random>

#include "codegen/cuda/fake_device.h"
#include "codegen/reduction_graphs.h"
#include "codegen/runs_like_evaluator.h"
#include "numlift/codegen/cuda.h"
#include "numlift/codegen/target.h"
#include "numlift/graph/builder.h"
#include "numlift/graph/pass.h"

namespace numlift::testing {
namespace {

constexpr DType kDTypes[] = {DType::kBool,      DType::kInt8,      DType::kInt16,   DType::kInt32,
                             DType::kInt64,     DType::kUInt8,     DType::kUInt16,  DType::kUInt32,
                             DType::kUInt64,    DType::kFloat16,   DType::kFloat32, DType::kFloat64,
                             DType::kComplex64, DType::kComplex128};

struct DeviceRun {
  explicit DeviceRun(const Graph& graph)
      : program(codegen::schedule(graph)), code(codegen::make_cuda_program(program)) {}
  // What it gives lies in memory of the host.
  HostResult run(const TestInputs& inputs) {
    const auto run_code = [this](codegen::ProgramFrame* frame) {
      return static_cast<int32_t>(code->run(frame));
    };
    return hosts.emplace_back(program, run_code, inputs.symbols, inputs.arrays).run();
  }
  codegen::Program program;
  std::unique_ptr<codegen::CudaProgram> code;
  std::deque<TestHost> hosts;  // of all runs
};

// Numbers where things go wrong, and ordinary ones.
ScalarBits special_scalar(DType dtype, std::mt19937_64* random) {
  if (is_complex(dtype) || (*random)() % 3 == 0) return random_scalar(dtype, random);
  const double floats[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -1.0,
                           1.5, 2.5,  -2.5,     1e-8,      3e4, 0.49999999999999994};
  const int64_t integers[] = {0,    1,   -1,        2,         63,        64,   127,
                              -128, 255, INT64_MIN, INT64_MAX, INT32_MIN, 32767};
  return with_ctype(dtype, [&](auto like) {
    using T = decltype(like);
    const double number = floats[(*random)() % std::size(floats)];
    const int64_t integer = integers[(*random)() % std::size(integers)];
    if constexpr (std::is_same_v<T, bool>)
      return make_scalar<bool>(dtype, integer % 2 != 0);
    else if constexpr (std::is_same_v<T, Half>)
      return make_scalar<uint16_t>(dtype, double_to_half(number));
    else if constexpr (std::is_integral_v<T>)
      return make_scalar<T>(dtype, static_cast<T>(integer));
    else
      return make_scalar<T>(dtype, T(static_cast<float>(number)));
  });
}

class EveryOp : public ::testing::TestWithParam<DType> {};

// x, y: special numbers; n: harmless ones, for casts to integers and as exponents.
TEST_P(EveryOp, OnTheDeviceEqualsTheEvaluator) {
  const FakeDevice fake;
  const DType dtype = GetParam();
  GraphBuilder builder("every_op");
  const SizeExpr size = builder.symbol(SymbolKind::kDim, 0, 0, 3);
  const NodeId x = builder.placeholder(dtype, {size}), y = builder.placeholder(dtype, {size}),
               n = builder.placeholder(dtype, {size});
  std::vector<Op> ops;
  for (int index = 0; index < static_cast<int>(Op::kSelect); ++index) {
    const auto op = static_cast<Op>(index);
    if (op == Op::kMakeComplex || !codegen::native_supports(op, dtype)) continue;
    ops.push_back(op);
    const NodeId second = op == Op::kPower && is_integer(dtype) ? n : y;
    builder.output(op_info(op).arity == 1 ? builder.elementwise(op, {x})
                                          : builder.elementwise(op, {x, second}));
  }
  builder.output(builder.select(builder.elementwise(Op::kLogicalNot, {x}), y, n));
  for (DType to : kDTypes) {
    ops.push_back(Op::kCast);
    builder.output(builder.cast(n, to));
  }
  const Graph graph = builder.finish();
  DeviceRun on_device(graph);
  std::mt19937_64 random(11);
  for (int64_t count : {1, 700}) {
    std::vector<int64_t> symbols = graph.symbol_hints();
    symbols[0] = count;
    TestInputs inputs = make_inputs(graph, symbols, 5);
    for (EvalArray* array : {&inputs.arrays[0], &inputs.arrays[1]})
      for_each_index(array->dims,
                     [&](auto at) { array->store(at, special_scalar(dtype, &random)); });
    const EvalResult expected = evaluate_graph(graph, inputs.symbols, inputs.arrays);
    const HostResult actual = on_device.run(inputs);
    ASSERT_EQ(actual.exit_code, 0);
    for (size_t i = 0; i < actual.outputs.size(); ++i) {
      SCOPED_TRACE(i < ops.size() ? op_info(ops[i]).text : "select or cast");
      int64_t tolerance = i < ops.size() && op_info(ops[i]).fp == FpRule::kLibrary ? 4 : 0;
      // Of zeros of both signs an extreme may be either.
      if (i < ops.size() && ops[i] >= Op::kMaximum && ops[i] <= Op::kFmin) tolerance = 1;
      if (is_complex(dtype)) tolerance = 64;
      EXPECT_EQ(compare_arrays(actual.outputs[i], expected.outputs[i], tolerance), "");
    }
  }
}

class EveryReductionOnDevice : public ::testing::TestWithParam<DType> {};

// One program for all of a dtype: they share loops where they can.
TEST_P(EveryReductionOnDevice, EqualsTheEvaluators) {
  const FakeDevice fake;
  const DType dtype = GetParam();
  std::vector<Op> ops;
  for (int index = 0; index <= static_cast<int>(Op::kReduceArgmax); ++index) {
    const auto op = static_cast<Op>(index);
    if (op_info(op).op_class == OpClass::kReduction && codegen::native_supports(op, dtype))
      ops.push_back(op);
  }
  ASSERT_GE(ops.size(), 4u);
  std::mt19937_64 random(7);
  for (bool is_strided : {false, true}) {
    const Graph graph = reductions_of(ops, dtype, is_strided);
    DeviceRun on_device(graph);
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{1, 1}, {2, 7}, {9, 33}, {40, 129}, {300, 1}, {2, 5000}}) {
      SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
      std::vector<int64_t> symbols(graph.symbols.size());
      symbols[0] = rows;
      symbols[1] = columns;
      TestInputs inputs = make_inputs(graph, make_symbols(graph, symbols), 1);
      // Ones and zeros of both signs: sums are exact, and there are ties.
      EvalArray& x = inputs.arrays[0];
      for_each_index(x.dims, [&](auto at) {
        const int64_t number = random() % 4 == 0 ? 0 : 1;
        const bool is_negative = kind_of(dtype) != DTypeKind::kUnsigned && random() % 2 == 0;
        uint8_t ignored = 0;
        x.store(at, cast_scalar(make_scalar<int64_t>(DType::kInt64, is_negative ? -number : number),
                                dtype, &ignored));
      });
      const EvalResult expected = evaluate_graph(graph, inputs.symbols, inputs.arrays);
      const HostResult actual = on_device.run(inputs);
      ASSERT_EQ(actual.exit_code, 0);
      for (size_t i = 0; i < actual.outputs.size(); ++i)
        ASSERT_EQ(compare_arrays(actual.outputs[i], expected.outputs[i], is_complex(dtype) ? 1 : 0),
                  "")
            << op_info(ops[i % ops.size()]).text << ", strided " << is_strided;
    }
  }
}

const auto kName = [](const auto& info) { return std::string(dtype_text(info.param)); };
INSTANTIATE_TEST_SUITE_P(DTypes, EveryOp, ::testing::ValuesIn(kDTypes), kName);
INSTANTIATE_TEST_SUITE_P(DTypes, EveryReductionOnDevice, ::testing::ValuesIn(kDTypes), kName);

// A float sum is no worse than NumPy's, and the same in every run.
TEST(DeviceSum, IsAccurateAndTheSameEveryTime) {
  const FakeDevice fake;
  const Graph graph = reductions_of({Op::kReduceSum}, DType::kFloat32, false);
  DeviceRun on_device(graph);
  std::vector<int64_t> symbols = graph.symbol_hints();
  symbols[0] = 500;
  symbols[1] = 400;
  const TestInputs inputs = make_inputs(graph, make_symbols(graph, symbols), 3);
  double exact = 0;
  for_each_index(inputs.arrays[0].dims, [&](auto at) {
    exact += static_cast<double>(scalar_value<float>(inputs.arrays[0].load(at)));
  });
  const HostResult first = on_device.run(inputs), second = on_device.run(inputs);
  EXPECT_LT(std::fabs(static_cast<double>(first.outputs[2].get<float>({})) / exact - 1), 3e-7);
  EXPECT_EQ(compare_arrays(first.outputs[2], second.outputs[2]), "");
}

// What NumPy would warn of restarts the program; what it would not, does not.
TEST(DeviceChecks, RestartWhereTheEvaluatorSaysSo) {
  const FakeDevice fake;
  struct Case {
    Op op;
    DType dtype;
  };
  std::mt19937_64 random(23);
  for (const Case& one : {Case{Op::kDivide, DType::kFloat64},
                          {Op::kMultiply, DType::kFloat32},
                          {Op::kLog, DType::kFloat64},
                          {Op::kPower, DType::kFloat64},
                          {Op::kSqrt, DType::kFloat16},
                          {Op::kFloorDivide, DType::kInt32},
                          {Op::kRemainder, DType::kFloat64}}) {
    SCOPED_TRACE(op_info(one.op).text);
    GraphBuilder builder("checks");
    const SizeExpr size = builder.symbol(SymbolKind::kDim, 0, 0, 3);
    const NodeId x = builder.placeholder(one.dtype, {size}),
                 y = builder.placeholder(one.dtype, {size});
    builder.set_fp_checks(kFpAll);
    builder.output(op_info(one.op).arity == 1 ? builder.elementwise(one.op, {x})
                                              : builder.elementwise(one.op, {x, y}));
    const Graph graph = builder.finish();
    DeviceRun on_device(graph);
    int restarts = 0;
    constexpr int kRuns = 60;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<int64_t> symbols = graph.symbol_hints();
      symbols[0] = 2;
      TestInputs inputs = make_inputs(graph, symbols, 5);
      for (EvalArray& array : inputs.arrays)
        for_each_index(array.dims,
                       [&](auto at) { array.store(at, special_scalar(one.dtype, &random)); });
      const EvalResult expected = evaluate_graph(graph, inputs.symbols, inputs.arrays);
      EXPECT_EQ(on_device.run(inputs).exit_code != 0, expected.must_restart)
          << scalar_text(inputs.arrays[0].load(std::vector<int64_t>{0})) << ", "
          << scalar_text(inputs.arrays[0].load(std::vector<int64_t>{1}));
      restarts += expected.must_restart ? 1 : 0;
    }
    EXPECT_GT(restarts, 0);
    EXPECT_LT(restarts, kRuns);
  }
}

}  // namespace
}  // namespace numlift::testing
