// Graphs with loops and branches as machine code: results, changed inputs, restarts and polls, as
// the reference evaluator has them and as counted by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "codegen/control_flow.h"
#include "numlift/support/options.h"
#include "support/random_regions.h"

namespace numlift::testing {
namespace {

// total = 0; for x in xs: total += x
TEST_F(ControlFlow, CountedLoopWithScalarState) {
  compile(R"(graph total(1 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[] = empty()
%2: py.f64 = constant() {value=0.5}
%3: f64[] = store(%1, %2)
%4: effect = loop() {counter=s1, trips=s0}
%5: f64[] = view(%0) {map=[s1]}
%6: f64[] = add(%3, %5) {fp=7}
%7: f64[] = store(%1, %6)
%8: effect = end(%4)
%9: f64() = positive(%7)
return %9
)");
  EXPECT_EQ(compiled_->program.temp_slot_bytes.size(), 0u) << text_;
  for (int64_t n : {0, 1, 2, 7, 100}) expect_like_evaluator(inputs({n}));
  const TestInputs given = inputs({3});
  for (int64_t i = 0; i < 3; ++i) given.arrays[0].set<double>({i}, static_cast<double>(i));
  EXPECT_EQ(run(given).outputs[0].get<double>({}), 3.5);
  given.arrays[0].set<double>({1}, HUGE_VAL);
  expect_like_evaluator(given);  // an infinity is no new condition
  EXPECT_TRUE(is_suspicious_) << "the fast code cannot know that";
  given.arrays[0].set<double>({2}, -HUGE_VAL);
  EXPECT_EQ(run(given).exit_code, 1);
}

// for i: for j: out[i, j] = a[i, j] * a[i, 0] + total; total += out[i, j]
TEST_F(ControlFlow, NestedLoopsOverElements) {
  compile(R"(graph nested(2 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = dim(0, 1) ~5, s2 = run ~0, s3 = run ~0
%0: f64[s0, s1] = placeholder() {input=0, strides=[8*s1, 8]}
%1: f64[s0, s1] = placeholder() {input=1, strides=[8*s1, 8]}
%2: f64[] = empty()
%3: py.f64 = constant() {value=1.0}
%4: f64[] = store(%2, %3)
%5: effect = loop() {counter=s2, trips=s0}
%6: effect = loop() {counter=s3, trips=s1}
%7: f64[] = view(%0) {map=[s2, s3]}
%8: f64[] = view(%0) {map=[s2, 0]}
%9: f64[] = multiply(%7, %8)
%10: f64[] = add(%9, %4)
%11: f64[] = view(%1) {map=[s2, s3]}
%12: f64[s0, s1] = store(%11, %10)
%13: f64[] = view(%12) {map=[s2, s3]}
%14: f64[] = add(%4, %13)
%15: f64[] = store(%2, %14)
%16: effect = end(%6)
%17: effect = end(%5)
%18: f64() = positive(%15)
return %18
mutates %12
)");
  for (int64_t n : {0, 1, 2, 5}) {
    for (int64_t m : {0, 1, 3}) expect_like_evaluator(inputs({n, m}));
  }
}

// Rows: a nest inside a loop, with slices whose length depends on the counter.
// for i in range(n): b[i, :i] = a[i, :i] * 2 + i; t = (a[i, i:] * 3).sum(); b[i, i] = t
TEST_F(ControlFlow, SlicesThatDependOnTheCounter) {
  compile(R"(graph slices(2 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~2
%0: f64[s0, s0] = placeholder() {input=0, strides=[8*s0, 8]}
%1: f64[s0, s0] = placeholder() {input=1, strides=[8*s0, 8]}
%2: effect = loop() {counter=s1, trips=s0}
%3: f64[s1] = view(%0) {map=[s1, 0:1@0]}
%4: py.f64 = constant() {value=2.0}
%5: f64[s1] = multiply(%3, %4)
%6: py.i64 = size_value() {value=s1}
%7: py.f64 = cast(%6)
%8: f64[s1] = add(%5, %7)
%9: f64[s1] = view(%1) {map=[s1, 0:1@0]}
%10: f64[s0, s0] = store(%9, %8)
%11: f64[s0 - s1] = view(%0) {map=[s1, s1:1@0]}
%12: py.f64 = constant() {value=4.0}
%13: f64[s0 - s1] = multiply(%11, %12)
%14: f64() = reduce_max(%13) {axes=[0]}
%15: f64[] = view(%10) {map=[s1, s1]}
%16: f64[s0, s0] = store(%15, %14)
%17: effect = end(%2)
return
mutates %16
)");
  for (int64_t n : {0, 1, 2, 5, 17, 40}) expect_like_evaluator(inputs({n}));
}

// for x in xs: if x > 1.2: big += x else: small = small * 0.5 + x
TEST_F(ControlFlow, BranchesMeet) {
  compile(R"(graph branches(1 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[] = empty()
%2: f64[] = empty()
%3: py.f64 = constant() {value=0.0}
%4: f64[] = store(%1, %3)
%5: f64[] = store(%2, %3)
%6: py.f64 = constant() {value=1.2}
%7: effect = loop() {counter=s1, trips=s0}
%8: f64[] = view(%0) {map=[s1]}
%9: b8() = greater(%8, %6)
%10: effect = if(%9)
%11: f64[] = add(%1, %8)
%12: f64[] = store(%1, %11)
%13: effect = else(%10)
%14: py.f64 = constant() {value=0.5}
%15: f64[] = multiply(%2, %14)
%16: f64[] = add(%15, %8)
%17: f64[] = store(%2, %16)
%18: effect = end(%10)
%19: effect = end(%7)
%20: f64() = positive(%12)
%21: f64() = positive(%17)
return %20, %21
)");
  for (int64_t n : {0, 1, 2, 9, 50}) expect_like_evaluator(inputs({n}, 3));
}

// i, j = 0, 1; while True: if i >= n: break; i, j = j, i + j; if x[i % 4] > 1.5: continue; count +=
// 1
TEST_F(ControlFlow, EndlessLoopWithAssignBreakAndContinue) {
  compile(R"(graph endless(1 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0, s2 = run ~0, s3 = run ~1
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: i64[] = empty()
%2: py.i64 = size_value() {value=0}
%3: i64[] = store(%1, %2)
%4: py.i64 = size_value() {value=1}
%5: effect = assign(%2, %4) {symbols=[s2, s3]}
%6: effect = loop() {counter=s1}
%7: py.i64 = size_value() {value=s2}
%8: py.i64 = size_value() {value=s0}
%9: py.b8 = greater_equal(%7, %8)
%10: effect = if(%9)
%11: effect = break(%6)
%12: effect = end(%10)
%13: f64[] = view(%0) {map=[s2]}
%14: py.f64 = constant() {value=1.5}
%15: b8() = greater(%13, %14)
%16: effect = if(%15)
%17: py.i64 = size_value() {value=s3}
%18: py.i64 = size_value() {value=s2 + s3}
%19: effect = assign(%17, %18) {symbols=[s2, s3]}
%20: effect = continue(%6)
%21: effect = end(%16)
%22: i64[] = add(%1, %4)
%23: i64[] = store(%1, %22)
%24: py.i64 = size_value() {value=s3}
%25: py.i64 = size_value() {value=s2 + s3}
%26: effect = assign(%24, %25) {symbols=[s2, s3]}
%27: effect = end(%6)
%28: i64() = positive(%23)
%29: py.i64 = size_value() {value=s2}
return %28, %29
)");
  for (int64_t n : {0, 1, 2, 9, 50}) expect_like_evaluator(inputs({n}, 3));
  const TestInputs given = inputs({30});
  for (int64_t i = 0; i < 30; ++i) given.arrays[0].set<double>({i}, i == 2 || i == 8 ? 2.0 : 1.0);
  // 0 1 1 2 3 5 8 13 21 | 34
  const HostResult result = run(given);
  EXPECT_EQ(result.outputs[0].get<int64_t>({}), 7);
  EXPECT_EQ(result.outputs[1].get<int64_t>({}), 34);
}

// for ... else: the block is left past the else arm.
TEST_F(ControlFlow, BlockIsLeft) {
  compile(R"(graph block(1 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: i64[] = empty()
%2: py.i64 = constant() {value=-1}
%3: i64[] = store(%1, %2)
%4: effect = block()
%5: effect = loop() {counter=s1, trips=s0}
%6: f64[] = view(%0) {map=[s1]}
%7: py.f64 = constant() {value=1.9}
%8: b8() = greater(%6, %7)
%9: effect = if(%8)
%10: py.i64 = size_value() {value=s1}
%11: i64[] = store(%1, %10)
%12: effect = break(%4)
%13: effect = end(%9)
%14: effect = end(%5)
%15: py.i64 = constant() {value=-2}
%16: i64[] = store(%1, %15)
%17: effect = end(%4)
%18: i64() = positive(%16)
return %18
)");
  for (int64_t n : {0, 1, 5, 50}) expect_like_evaluator(inputs({n}, 3));
  const TestInputs given = inputs({4});
  for (int64_t i = 0; i < 4; ++i) given.arrays[0].set<double>({i}, 1.0);
  EXPECT_EQ(run(given).outputs[0].get<int64_t>({}), -2);
  given.arrays[0].set<double>({2}, 2.0);
  EXPECT_EQ(run(given).outputs[0].get<int64_t>({}), 2);
}

// y overflows; the loop is left past its end.
TEST_F(ControlFlow, ConditionsCountWhereverALoopIsLeft) {
  compile(R"(graph left(1 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[] = empty()
%2: py.f64 = constant() {value=1e200}
%3: f64[] = store(%1, %2)
%4: effect = block()
%5: effect = loop() {counter=s1, trips=s0}
%6: f64[] = multiply(%1, %2) {fp=7}
%7: f64[] = store(%1, %6)
%8: py.i64 = size_value() {value=s1}
%9: py.i64 = constant() {value=3}
%10: py.b8 = equal(%8, %9)
%11: effect = if(%10)
%12: effect = break(%4)
%13: effect = end(%11)
%14: effect = end(%5)
%15: effect = end(%4)
%16: f64() = positive(%7)
return %16
)");
  EXPECT_EQ(run(inputs({0})).exit_code, 0);
  EXPECT_EQ(run(inputs({1})).exit_code, 1);
  EXPECT_EQ(run(inputs({5})).exit_code, 1) << "left by the break";
}

// State arrays: x, y = y, x + y; temporaries of each iteration share no life with them.
TEST_F(ControlFlow, ArraysAsState) {
  compile(R"(graph arrays(2 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = int(1) ~4, s2 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[s0] = copy(%0)
%2: f64[s0] = empty()
%3: py.f64 = constant() {value=1.0}
%4: f64[s0] = store(%2, %3)
%5: effect = loop() {counter=s2, trips=s1}
%6: f64[s0] = add(%1, %2)
%7: f64() = reduce_max(%6) {axes=[0]}
%8: f64[s0] = divide(%6, %7)
%9: f64[s0] = copy(%2)
%10: f64[s0] = store(%1, %9)
%11: f64[s0] = store(%2, %8)
%12: effect = end(%5)
return %10, %11
)");
  for (int64_t n : {1, 2, 9, 50, 3000}) {
    for (int64_t trips : {0, 1, 2, 7}) {
      expect_like_evaluator(inputs({n, trips}));
    }
  }
}

// x = y at the end of an iteration: their memory changes hands.
TEST_F(ControlFlow, WholeCopiesBecomeSwaps) {
  compile(R"(graph relax(2 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = int(1) ~4, s2 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[s0] = copy(%0)
%2: effect = loop() {counter=s2, trips=s1}
%3: f64[s0] = copy(%1)
%4: f64[s0 - 2] = view(%1) {map=[0:1@0]}
%5: f64[s0 - 2] = view(%1) {map=[2:1@0]}
%6: f64[s0 - 2] = add(%4, %5) {fp=7}
%7: f64[s0 - 2] = view(%3) {map=[1:1@0]}
%8: f64[s0] = store(%7, %6)
%9: f64[s0] = store(%1, %8)
%10: effect = end(%2)
return %9
)");
  EXPECT_NE(text_.find("swap b"), std::string::npos) << text_;
  for (int64_t n : {2, 3, 9, 50, 3000}) {
    for (int64_t trips : {0, 1, 2, 7}) expect_like_evaluator(inputs({n, trips}));
  }
  const TestInputs given = inputs({9, 3});
  given.arrays[0].set<double>({4}, HUGE_VAL);  // a second run after the swaps of the first
  expect_like_evaluator(given);
}

// Temporaries of a size that the counter decides: t = a[:i+1] * 2, read reversed.
TEST_F(ControlFlow, TemporariesThatGrow) {
  compile(R"(graph grow(2 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~2
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[s0] = placeholder() {input=1, strides=[8]}
%2: effect = loop() {counter=s1, trips=s0}
%3: f64[s0 - s1] = view(%0) {map=[0:1@0]}
%4: f64[s0 - s1] = view(%1) {map=[s1:1@0]}
%5: f64[s0 - s1] = add(%3, %4)
%6: f64[s0 - s1] = view(%5) {map=[s0 - s1 - 1:-1@0]}
%7: f64[s0] = store(%4, %6)
%8: f64() = reduce_max(%7) {axes=[0]}
%9: f64[s0 - s1] = view(%1) {map=[s1:1@0]}
%10: f64[s0 - s1] = divide(%9, %8)
%11: f64[s0] = store(%9, %10)
%12: effect = end(%2)
return
mutates %11
)");
  EXPECT_NE(text_.find("allocate"), std::string::npos) << text_;
  for (int64_t n : {0, 1, 2, 9, 50, 500}) expect_like_evaluator(inputs({n}));
}

// A check in the middle: what was stored before it is undone by the host, which must know.
TEST_F(ControlFlow, CheckRestarts) {
  compile(R"(graph check(2 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[s0] = placeholder() {input=1, strides=[8]}
%2: effect = loop() {counter=s1, trips=s0}
%3: f64[] = view(%0) {map=[s1]}
%4: py.f64 = constant() {value=100.0}
%5: b8() = less(%3, %4)
%6: effect = check(%5)
%7: f64[] = view(%1) {map=[s1]}
%8: f64[s0] = store(%7, %3)
%9: effect = end(%2)
return
mutates %8
)");
  bool undone = false;
  for (const codegen::Buffer& buffer : compiled_->program.buffers)
    undone = undone || (buffer.kind == codegen::Buffer::Kind::kInput && buffer.needs_undo);
  EXPECT_TRUE(undone) << "the check of a later iteration comes after the store";
  const TestInputs given = inputs({6});
  expect_like_evaluator(given);
  given.arrays[0].set<double>({4}, 100.0);
  expect_like_evaluator(given);
  EXPECT_EQ(run(given).exit_code, 1);
}

// An endless loop that only the host can end.
TEST_F(ControlFlow, PollEndsTheLoop) {
  compile(R"(graph poll(1 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: effect = loop() {counter=s1}
%2: f64[] = view(%0) {map=[0]}
%3: py.f64 = constant() {value=1.0}
%4: f64[] = add(%2, %3)
%5: f64[s0] = store(%2, %4)
%6: effect = end(%1)
return
mutates %5
)");
  stop_at_poll_ = 3;
  const TestInputs given = inputs({2});
  given.arrays[0].set<double>({0}, 0.0);
  EXPECT_EQ(run(given).exit_code, static_cast<int32_t>(codegen::ExitCode::kInterrupted));
  EXPECT_EQ(polls_, 3);
  EXPECT_GT(given.arrays[0].get<double>({0}), 1000.0);
}

// The same inside another loop, and a counted one there that is long.
TEST_F(ControlFlow, PollEndsInnerLoops) {
  for (const char* trips : {"", ", trips=4611686018427387904"}) {
    compile(fmt::format(R"(graph poll(1 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0, s2 = run ~0
%0: f64[s0] = placeholder() {{input=0, strides=[8]}}
%1: effect = loop() {{counter=s1, trips=s0}}
%2: effect = loop() {{counter=s2{}}}
%3: f64[] = view(%0) {{map=[0]}}
%4: py.f64 = constant() {{value=1.0}}
%5: f64[] = add(%3, %4)
%6: f64[s0] = store(%3, %5)
%7: effect = end(%2)
%8: effect = end(%1)
return
mutates %6
)",
                        trips));
    stop_at_poll_ = 2;
    const TestInputs given = inputs({2});
    EXPECT_EQ(run(given).exit_code, static_cast<int32_t>(codegen::ExitCode::kInterrupted));
    EXPECT_EQ(polls_, 2);
  }
}

// Large nests in a loop stay functions of their own and read the counter from the frame.
TEST_F(ControlFlow, LargeNestsInALoop) {
  compile(R"(graph large(2 inputs)
symbols: s0 = dim(0, 0) ~200, s1 = dim(0, 1) ~300, s2 = int(1) ~4, s3 = run ~0
%0: f64[s0, s1] = placeholder() {input=0, strides=[8*s1, 8]}
%1: f64[s0, s1] = copy(%0)
%2: effect = loop() {counter=s3, trips=s2}
%3: py.i64 = size_value() {value=3*s3 + 1}
%4: py.f64 = cast(%3)
%5: f64[s0, s1] = multiply(%1, %4)
%6: f64[s0, s1] = sin(%5)
%7: f64[s0, s1] = add(%6, %0)
%8: f64() = reduce_max(%7) {axes=[0, 1]}
%9: f64[s0, s1] = divide(%7, %8)
%10: f64[s0, s1] = store(%1, %9)
%11: effect = end(%2)
return %10
)");
  EXPECT_EQ(text_.find("inline nest: work s0"), std::string::npos) << text_;
  mutable_options().parallel_threshold = 1;
  for (int64_t trips : {0, 1, 3}) {
    const TestInputs given = inputs({40, 50, trips});
    const TestInputs theirs = clone_inputs(given);
    const EvalResult expected = evaluate_graph(graph_, theirs.symbols, theirs.arrays);
    const HostResult actual = run(clone_inputs(given));
    ASSERT_EQ(actual.exit_code, 0);
    EXPECT_EQ(compare_arrays(actual.outputs[0], expected.outputs[0], 256), "");
  }
  reset_options();
}

// NUMLIFT_FUZZ_FROM and NUMLIFT_FUZZ_COUNT choose other seeds.
TEST_F(ControlFlow, RandomRegionsRunLikeEvaluator) {
  const auto number = [](const char* name, uint32_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
  };
  const uint32_t from = number("NUMLIFT_FUZZ_FROM", 1);
  const uint32_t count = number("NUMLIFT_FUZZ_COUNT", 60);
  for (uint32_t seed = from; seed < from + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomRegions made = make_random_regions(seed, 40);
    const auto& nodes = made.settled.nodes();
    if (std::none_of(nodes.begin(), nodes.end(),
                     [](const Node& node) { return begins_region(node.op); }))
      continue;  // nothing was settled
    SCOPED_TRACE(graph_text(made.settled));
    compile(std::move(made.settled));
    expect_like_evaluator({made.symbols, made.inputs});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace numlift::testing
