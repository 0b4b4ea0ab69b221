// Captured loops that are axes of what they do: the loops that come of them, and their results.
#include <cmath>

#include "codegen/control_flow.h"
#include "numlift/support/options.h"

namespace numlift::testing {
namespace {

class LoopAxes : public ControlFlow {
 protected:
  bool has(const char* text) const { return text_.find(text) != std::string::npos; }
};

// for j: b[:, j] = b[:, j] - max(a[:, j]) * j
TEST_F(LoopAxes, ColumnsThatDoNotMeet) {
  compile(R"(graph columns(2 inputs)
symbols: s0 = dim(0, 0) ~40, s1 = dim(0, 1) ~50, s2 = run ~0
%0: f64[s0, s1] = placeholder() {input=0, strides=[8*s1, 8]}
%1: f64[s0, s1] = placeholder() {input=1, strides=[8*s1, 8]}
%2: effect = loop() {counter=s2, trips=s1}
%3: f64[s0] = view(%0) {map=[0:1@0, s2]}
%4: f64() = reduce_max(%3) {axes=[0]}
%5: py.i64 = size_value() {value=2*s2 - 1}
%6: py.f64 = cast(%5)
%7: f64() = multiply(%4, %6)
%8: f64[s0] = view(%1) {map=[0:1@0, s2]}
%9: f64[s0] = subtract(%8, %7) {fp=7}
%10: f64[s0, s1] = store(%8, %9)
%11: effect = end(%2)
return
mutates %10
)");
  EXPECT_TRUE(has("in min(s1, 1)")) << text_;
  EXPECT_TRUE(has("vector for i0 in s1")) << text_;
  for (int64_t n : {1, 2, 9, 40}) {
    for (int64_t m : {0, 1, 7, 8, 33}) expect_like_evaluator(inputs({n, m}));
  }
  mutable_options().parallel_threshold = 1;
  expect_like_evaluator(inputs({40, 300}));
  reset_options();
}

// for i: for j: c[i, j] = a[i, j] * b[j]; both loops are axes, of one nest.
TEST_F(LoopAxes, LoopsInsideEachOther) {
  compile(R"(graph both(2 inputs)
symbols: s0 = dim(0, 0) ~6, s1 = dim(0, 1) ~5, s2 = dim(0, 2) ~9, s3 = run ~0, s4 = run ~0
%0: f64[s0, s1, s2] = placeholder() {input=0, strides=[8*s1*s2, 8*s2, 8]}
%1: f64[s0, s1, s2] = placeholder() {input=1, strides=[8*s1*s2, 8*s2, 8]}
%2: effect = loop() {counter=s3, trips=s0}
%3: effect = loop() {counter=s4, trips=s1}
%4: f64[s2] = view(%0) {map=[s3, s4, 0:1@0]}
%5: f64[s2] = view(%1) {map=[s3, s4, 0:1@0]}
%6: f64[s2] = multiply(%4, %5) {fp=7}
%7: f64[s0, s1, s2] = store(%5, %6)
%8: effect = end(%3)
%9: effect = end(%2)
return
mutates %7
)");
  EXPECT_TRUE(has("in min(s0, 1)") && has("in min(s1, 1)")) << text_;
  EXPECT_TRUE(has("for i0 in s0*s1*s2")) << text_;
  for (int64_t n : {0, 1, 3}) {
    for (int64_t m : {0, 1, 4}) {
      for (int64_t k : {1, 17}) expect_like_evaluator(inputs({n, m, k}));
    }
  }
}

const char* const kRecurrence = R"(graph recurrence(2 inputs)
symbols: s0 = dim(0, 0) ~40, s1 = dim(0, 1) ~50, s2 = run ~0
%0: f64[s0, s1] = placeholder() {input=0, strides=[8*s1, 8]}
%1: f64[s0, s1] = placeholder() {input=1, strides=[8*s1, 8]}
%2: effect = loop() {counter=s2, trips=s1 - 2}
%3: f64[s0] = view(%0) {map=[0:1@0, s2 + 2]}
%4: f64[s0] = view(%0) {map=[0:1@0, s2 + 1]}
%5: f64[s0] = view(%1) {map=[0:1@0, s2 + 1]}
%6: f64[s0] = view(%1) {map=[0:1@0, s2]}
%7: f64[s0] = multiply(%4, %5)
%8: f64[s0] = add(%3, %7) {fp=7}
%9: f64[s0] = minimum(%8, %6)
%10: f64[s0] = view(%1) {map=[0:1@0, s2 + 2]}
%11: f64[s0, s1] = store(%10, %9)
%12: effect = end(%2)
return
mutates %11
)";

// for j: y[:, j] = min(x[:, j] + x[:, j - 1] * y[:, j - 1], y[:, j - 2])
TEST_F(LoopAxes, RowsOfARecurrence) {
  compile(kRecurrence);
  EXPECT_TRUE(has("vector for i0 in s0")) << text_;
  EXPECT_TRUE(has("in order for i1 in s1 - 2")) << text_;
  for (int64_t n : {1, 2, 8, 13, 40}) {
    for (int64_t m : {2, 3, 4, 5, 33}) expect_like_evaluator(inputs({n, m}));
  }
  mutable_options().parallel_threshold = 1;
  expect_like_evaluator(inputs({300, 20}));
  reset_options();
}

TEST_F(LoopAxes, ConditionsOfARecurrence) {
  compile(kRecurrence);
  const TestInputs given = inputs({11, 20});
  for (int64_t i = 0; i < 11; ++i) {
    for (int64_t j = 0; j < 20; ++j) given.arrays[1].set<double>({i, j}, 1.0);
  }
  given.arrays[0].set<double>({3, 7}, HUGE_VAL);
  expect_like_evaluator(given);
  given.arrays[0].set<double>({3, 8}, -HUGE_VAL);
  given.arrays[1].set<double>({3, 8}, 1.0);
  expect_like_evaluator(given);
}

// What is read of another column than the own, or written to one place: iterations keep their
// order.
TEST_F(LoopAxes, IterationsThatMeet) {
  compile(R"(graph meet(2 inputs)
symbols: s0 = dim(0, 0) ~40, s1 = dim(0, 1) ~50, s2 = run ~0
%0: f64[s0, s1] = placeholder() {input=0, strides=[8*s1, 8]}
%1: f64[s0, s1] = placeholder() {input=1, strides=[8*s1, 8]}
%2: effect = loop() {counter=s2, trips=s1 - 1}
%3: f64[s0] = view(%1) {map=[s0 - 1:-1@0, s2]}
%4: f64[s0] = view(%1) {map=[0:1@0, s2 + 1]}
%5: f64[s0] = maximum(%3, %4)
%6: f64[s0, s1] = store(%4, %5)
%7: effect = end(%2)
return
mutates %6
)");
  EXPECT_TRUE(has("in s1 - 1")) << text_;
  EXPECT_FALSE(has("in order")) << text_;
  for (int64_t n : {1, 2, 9}) {
    for (int64_t m : {1, 2, 20}) expect_like_evaluator(inputs({n, m}));
  }
}

// y[i] = x[i] + y[i - 1] * y[i - 2], one number after the other: what was stored stays in
// registers.
TEST_F(LoopAxes, StoredNumbersStayInRegisters) {
  compile(R"(graph numbers(2 inputs)
symbols: s0 = dim(0, 0) ~50, s1 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[s0] = placeholder() {input=1, strides=[8]}
%2: effect = loop() {counter=s1, trips=s0 - 2}
%3: f64[] = view(%0) {map=[s1 + 2]}
%4: f64[] = view(%1) {map=[s1 + 1]}
%5: f64[] = view(%1) {map=[s1]}
%6: f64[] = multiply(%4, %5)
%7: f64[] = add(%3, %6) {fp=7}
%8: f64[] = view(%1) {map=[s1 + 2]}
%9: f64[s0] = store(%8, %7)
%10: effect = end(%2)
return
mutates %9
)");
  const auto code = codegen::emit_native(compiled_->program, /*keep_ir=*/true);
  EXPECT_NE(code->ir_text().find("%carried"), std::string::npos) << code->ir_text();
  for (int64_t n : {2, 3, 4, 5, 50, 3000}) expect_like_evaluator(inputs({n}));
}

}  // namespace
}  // namespace numlift::testing
