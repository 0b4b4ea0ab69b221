// Every reduction of every dtype along every axis equals the reference evaluator's, on contiguous
// and on strided operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "codegen/reduction_graphs.h"
#include "codegen/test_host.h"
#include "codegen/test_inputs.h"
#include "numlift/codegen/target.h"
#include "numlift/graph/builder.h"

namespace numlift::testing {
namespace {

bool needs_elements(Op op) {
  return op == Op::kReduceMin || op == Op::kReduceMax || op == Op::kReduceArgmin ||
         op == Op::kReduceArgmax;
}

// Few different values, so that there are ties, and runs of zeros, which are false.
void fill(EvalArray* array, bool is_product, std::mt19937_64* random) {
  for_each_index(array->dims, [&](auto index) {
    const int64_t number = is_product || (*random)() % 4 == 0 ? 1 : 0;
    const bool is_negative = kind_of(array->dtype) != DTypeKind::kUnsigned && (*random)() % 2 == 0;
    uint8_t ignored = 0;
    array->store(index,
                 cast_scalar(make_scalar<int64_t>(DType::kInt64, is_negative ? -number : number),
                             array->dtype, &ignored));
  });
}

void check(const std::vector<Op>& ops, DType dtype, bool is_strided) {
  SCOPED_TRACE(fmt::format("{} and {} more of {}, strided: {}", op_info(ops[0]).text,
                           ops.size() - 1, dtype_text(dtype), is_strided));
  const Graph graph = reductions_of(ops, dtype, is_strided);
  const auto compiled = codegen::compile_graph(graph);
  // The sign of a complex product's zeros depends on the order of its factors.
  const int64_t tolerance = is_complex(dtype) ? 1 : 0;
  std::mt19937_64 random(7);
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{0, 0},
                                      {0, 3},
                                      {1, 1},
                                      {2, 7},
                                      {9, 33},
                                      {40, 129},
                                      {150, 1},
                                      {2, 2100}}) {
    if (std::any_of(ops.begin(), ops.end(), needs_elements) && rows * columns == 0) continue;
    SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
    std::vector<int64_t> symbols(graph.symbols.size());
    symbols[0] = rows;
    symbols[1] = columns;
    TestInputs inputs = make_inputs(graph, make_symbols(graph, symbols), 1);
    fill(&inputs.arrays[0], ops[0] == Op::kReduceProd, &random);
    const EvalResult expected = evaluate_graph(graph, inputs.symbols, inputs.arrays);
    TestHost host(compiled->program, compiled->code->function(), inputs.symbols, inputs.arrays);
    const HostResult actual = host.run();
    EXPECT_TRUE(actual.guards_intact);
    ASSERT_EQ(actual.exit_code, 0);
    for (size_t i = 0; i < actual.outputs.size(); ++i)
      ASSERT_EQ(compare_arrays(actual.outputs[i], expected.outputs[i], tolerance), "")
          << "output " << i;
  }
}

class EveryDType : public ::testing::TestWithParam<DType> {};

TEST_P(EveryDType, ReducesLikeTheEvaluator) {
  codegen::initialize_native();
  int count = 0;
  for (int index = 0; index <= static_cast<int>(Op::kReduceArgmax); ++index) {
    const auto op = static_cast<Op>(index);
    if (op_info(op).op_class != OpClass::kReduction) continue;
    if (!codegen::native_supports(op, GetParam())) continue;
    ++count;
    check({op}, GetParam(), /*is_strided=*/false);
    if (HasFailure()) return;
  }
  EXPECT_GE(count, 4);
}

TEST(EveryReduction, OfStridedFloat16EqualsTheEvaluator) {
  codegen::initialize_native();
  for (Op op : {Op::kReduceSum, Op::kReduceProd, Op::kReduceMin, Op::kReduceMax, Op::kReduceAll,
                Op::kReduceAny, Op::kReduceArgmin, Op::kReduceArgmax})
    check({op}, DType::kFloat16, /*is_strided=*/true);
}

// One loop for all of them: only the sum of floats is cut into blocks.
TEST(EveryReduction, ReductionsOfSeveralKindsShareALoop) {
  codegen::initialize_native();
  const std::vector<Op> ops = {Op::kReduceSum, Op::kReduceMax,    Op::kReduceMin,   Op::kReduceAny,
                               Op::kReduceAll, Op::kReduceArgmin, Op::kReduceArgmax};
  for (DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kInt32})
    for (bool is_strided : {false, true}) check(ops, dtype, is_strided);
}

INSTANTIATE_TEST_SUITE_P(Reductions, EveryDType,
                         ::testing::Values(DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32,
                                           DType::kInt64, DType::kUInt8, DType::kUInt16,
                                           DType::kUInt32, DType::kUInt64, DType::kFloat16,
                                           DType::kFloat32, DType::kFloat64, DType::kComplex64,
                                           DType::kComplex128),
                         [](const auto& info) { return std::string(dtype_text(info.param)); });

}  // namespace
}  // namespace numlift::testing
