// Control flow in graphs: text, what settle_regions() makes of a graph that was written down
// loosely, and random graphs.
#include "numlift/graph/regions.h"

#include <gtest/gtest.h>

#include "numlift/graph/pass.h"
#include "numlift/graph/text.h"
#include "support/golden.h"
#include "support/random_regions.h"

namespace numlift::testing {
namespace {

// ---------------------------------------------------------------- text

// Every control op, every attribute of theirs.
constexpr std::string_view kEveryOp = R"(graph f(2 inputs)
symbols: s0 = dim(0, 0) ~8, s1 = run ~0, s2 = run ~-1, s3 = run ~3
%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: py.f64 = placeholder() {input=1, strides=[]}
%2: i64() = constant() {value=1}
%3: effect = assign(%2, %2) {symbols=[s2, s3]}   # user.py:2 in f
%4: effect = loop() {counter=s1, trips=s0 - 1}   # user.py:3 in f
%5: f64[s0] = merge(%0)   # user.py:3 in f
%6: f64[] = view(%5) {map=[s1]}
%7: b8() = less(%6, %1)   # user.py:4 in f
%8: effect = if(%7)   # user.py:4 in f
%9: effect = continue(%4)   # user.py:5 in f
%10: effect = else(%8)   # user.py:6 in f
%11: f64[] = view(%5) {map=[s1 + 1]}
%12: f64[s0] = store(%11, %1)   # user.py:7 in f
%13: effect = end(%8)
%14: f64[s0] = merge(%5)
%15: effect = block()
%16: effect = check(%7)   # user.py:8 in f
%17: effect = loop() {counter=s2}   # user.py:9 in f
%18: effect = if(%7)
%19: effect = break(%17)
%20: effect = end(%18)
%21: effect = break(%15)
%22: effect = end(%17)
%23: effect = end(%15)
%24: effect = end(%4)
%25: f64[s0] = merge(%0)
return %25
mutates %25
)";

TEST(Regions, TextRoundTrips) {
  const auto graph = parse_graph(kEveryOp);
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_EQ(graph_text(*graph), kEveryOp);
  EXPECT_EQ(verify(*graph), "");
  EXPECT_EQ(graph->symbols[2], (Symbol{SymbolKind::kRun, 0, 0, -1}));
  EXPECT_EQ(attr_of<AssignAttr>(graph->node(NodeId{3})).symbols,
            (std::vector<SymbolId>{SymbolId{2}, SymbolId{3}}));
  const auto& counted = attr_of<RegionAttr>(graph->node(NodeId{4}));
  EXPECT_EQ(counted.counter, SymbolId{1});
  EXPECT_EQ(counted.trips, SizeExpr::symbol(SymbolId{0}) - 1);
  EXPECT_EQ(attr_of<RegionAttr>(graph->node(NodeId{17})).trips, std::nullopt);
}

TEST(Regions, TextErrorsNameTheirCause) {
  const auto error = [](std::string_view text) {
    const auto parsed = parse_graph(text);
    return parsed ? std::string("parsed") : parsed.error();
  };
  EXPECT_EQ(error("%0: effect = loop() {counter=3}\nreturn"),
            "line 1: expected \"s\" before \"3}\"");
  EXPECT_EQ(error("%0: effect = loop() {trips=3}\nreturn"), "line 1: unknown attribute \"trips\"");
  EXPECT_EQ(error("%0: effect = assign() {symbols=[0]}\nreturn"),
            "line 1: expected \"s\" before \"0]}\"");
  EXPECT_EQ(error("symbols: s0 = run(0) ~3\nreturn"), "line 1: expected \"~\" before \"(0) ~3\"");
}

TEST(Regions, EndsAreFoundByBegin) {
  const auto graph = parse_graph(kEveryOp);
  const std::vector<NodeId> ends = region_ends(*graph);
  for (const auto& [begin, end] : std::vector<std::pair<uint32_t, uint32_t>>{
           {4, 24}, {8, 13}, {10, 13}, {15, 23}, {17, 22}, {18, 20}}) {
    EXPECT_EQ(ends[begin], NodeId{end}) << begin;
  }
  EXPECT_EQ(std::count(ends.begin(), ends.end(), kNoNode), 26 - 6);
}

// ---------------------------------------------------------------- settle_regions()

TEST(SettleRegions, AGraphWithoutRegionsStaysAsItIs) {
  LooseGraph b;
  const NodeId x = b.placeholder(DType::kFloat64, {4});
  b.store(x, b.constant(2.0));
  b.output(b.elementwise(Op::kNegative, {x}));  // a stale read: not settle's to mend here
  Graph graph = b.finish();
  const std::string before = graph_text(graph);
  settle_regions(&graph, {});
  EXPECT_EQ(graph_text(graph), before);
}

TEST(SettleRegions, ALoopReadsWhatTheIterationBeforeStored) {
  LooseGraph b;
  const SizeExpr n = b.symbol(SymbolKind::kDim, 0, 0, 4);
  const NodeId x = b.placeholder(DType::kFloat64, {n});
  const NodeId total = b.empty(DType::kFloat64, {});
  b.store(total, b.constant(0.0));
  const NodeId loop = b.loop(n);
  const NodeId item = b.view(x, IndexMap{{{b.counter(loop), 0, -1}}}, {});
  b.store(total, b.elementwise(Op::kAdd, {total, item}));
  b.end(loop);
  b.output(total);
  EXPECT_EQ(b.settled(), R"(%0: f64[s0] = placeholder() {input=0, strides=[8]}
%1: f64[] = empty()
%2: py.f64 = constant() {value=0}
%3: f64[] = store(%1, %2)
%4: effect = loop() {counter=s1, trips=s0}
%5: f64[] = merge(%3)
%6: f64[] = view(%0) {map=[s1]}
%7: f64() = add(%5, %6)
%8: f64[] = store(%5, %7)
%9: effect = end(%4)
%10: f64[] = merge(%3)
return %10
)");
}

TEST(SettleRegions, ArmsBeginWithTheVersionBeforeTheIf) {
  LooseGraph b;
  const NodeId x = b.placeholder(DType::kFloat64, {4});
  const NodeId y = b.placeholder(DType::kFloat64, {4});
  const NodeId condition = b.scalar_placeholder(numpy_scalar_type(DType::kBool));
  const NodeId first = b.store(x, b.constant(1.0));
  const NodeId branch = b.begin_if(condition);
  const NodeId second = b.store(first, b.constant(2.0));
  b.begin_else(branch);
  b.store(y, b.elementwise(Op::kNegative, {second}));
  b.end(branch);
  b.output(b.elementwise(Op::kAdd, {x, y}));
  EXPECT_EQ(b.settled(), R"(%0: f64[4] = placeholder() {input=0, strides=[8]}
%1: f64[4] = placeholder() {input=1, strides=[8]}
%2: b8() = placeholder() {input=2, strides=[]}
%3: py.f64 = constant() {value=1}
%4: f64[4] = store(%0, %3)
%5: effect = if(%2)
%6: py.f64 = constant() {value=2}
%7: f64[4] = store(%4, %6)
%8: effect = else(%5)
%9: f64[4] = merge(%4)
%10: f64[4] = negative(%9)
%11: f64[4] = store(%1, %10)
%12: effect = end(%5)
%13: f64[4] = merge(%4)
%14: f64[4] = merge(%1)
%15: f64[4] = add(%13, %14)
return %15
mutates %13, %14
)");
}

TEST(SettleRegions, PlaceholdersAndMovedNodesGetTheirPlace) {
  LooseGraph b;
  const NodeId x = b.placeholder(DType::kFloat64, {4});
  const NodeId condition = b.scalar_placeholder(numpy_scalar_type(DType::kBool));
  const NodeId loop = b.loop(SizeExpr(3));
  const NodeId branch = b.begin_if(condition);
  const NodeId y = b.placeholder(DType::kFloat64, {4});
  const NodeId in_then = b.elementwise(Op::kNegative, {y});
  const NodeId other = b.begin_else(branch);
  const NodeId in_else = b.elementwise(Op::kSquare, {y});
  const NodeId end = b.end(branch);
  // What the arms leave is known now: a buffer before the if that each of them stores to.
  const NodeId state = b.empty(DType::kFloat64, {4});
  b.move(state, branch);
  b.move(b.store(state, in_then), other);
  b.move(b.store(state, in_else), end);
  b.store(x, state);
  b.end(loop);
  // A later placeholder than the first of the two.
  EXPECT_EQ(b.settled(), R"(%0: f64[4] = placeholder() {input=0, strides=[8]}
%1: b8() = placeholder() {input=1, strides=[]}
%2: f64[4] = placeholder() {input=2, strides=[8]}
%3: effect = loop() {counter=s0, trips=3}
%4: f64[4] = merge(%0)
%5: f64[4] = empty()
%6: effect = if(%1)
%7: f64[4] = negative(%2)
%8: f64[4] = store(%5, %7)
%9: effect = else(%6)
%10: f64[4] = merge(%5)
%11: f64[4] = square(%2)
%12: f64[4] = store(%10, %11)
%13: effect = end(%6)
%14: f64[4] = merge(%5)
%15: f64[4] = store(%4, %14)
%16: effect = end(%3)
%17: f64[4] = merge(%0)
return
mutates %17
)");
}

TEST(SettleRegions, NestedRegionsMergeAtEveryLevel) {
  LooseGraph b;
  const NodeId x = b.placeholder(DType::kFloat64, {4});
  const NodeId condition = b.scalar_placeholder(numpy_scalar_type(DType::kBool));
  const NodeId block = b.block();
  const NodeId outer = b.loop(SizeExpr(3));
  const NodeId inner = b.loop(SizeExpr(2));
  const NodeId branch = b.begin_if(condition);
  b.store(x, b.constant(1.0));
  b.leave(Op::kBreak, block);
  b.end(branch);
  b.end(inner);
  b.end(outer);
  b.end(block);
  b.output(x);
  EXPECT_EQ(b.settled(), R"(%0: f64[4] = placeholder() {input=0, strides=[8]}
%1: b8() = placeholder() {input=1, strides=[]}
%2: effect = block()
%3: effect = loop() {counter=s0, trips=3}
%4: f64[4] = merge(%0)
%5: effect = loop() {counter=s1, trips=2}
%6: f64[4] = merge(%4)
%7: effect = if(%1)
%8: py.f64 = constant() {value=1}
%9: f64[4] = store(%6, %8)
%10: effect = break(%2)
%11: effect = end(%7)
%12: f64[4] = merge(%6)
%13: effect = end(%5)
%14: f64[4] = merge(%4)
%15: effect = end(%3)
%16: f64[4] = merge(%0)
%17: effect = end(%2)
%18: f64[4] = merge(%0)
return %18
mutates %18
)");
}

TEST(SettleRegions, ViewsFromBeforeLookAtWhatIsThereNow) {
  LooseGraph b;
  const NodeId x = b.placeholder(DType::kFloat64, {4});
  const NodeId row = b.slice(x, 0, 0, 1, 2);
  const NodeId head = b.slice(row, 0, 0, 1, 1);
  const NodeId loop = b.loop(SizeExpr(3));
  const NodeId read = b.elementwise(Op::kNegative, {head});
  b.store(head, read);
  b.end(loop);
  b.output(row);
  b.output(row);
  b.output(x);
  EXPECT_EQ(b.settled(), R"(%0: f64[4] = placeholder() {input=0, strides=[8]}
%1: f64[2] = view(%0) {map=[0:1@0]}
%2: f64[1] = view(%1) {map=[0:1@0]}
%3: effect = loop() {counter=s0, trips=3}
%4: f64[4] = merge(%0)
%5: f64[2] = view(%4) {map=[0:1@0]}
%6: f64[1] = view(%5) {map=[0:1@0]}
%7: f64[1] = negative(%6)
%8: f64[2] = view(%4) {map=[0:1@0]}
%9: f64[1] = view(%8) {map=[0:1@0]}
%10: f64[4] = store(%9, %7)
%11: effect = end(%3)
%12: f64[4] = merge(%0)
%13: f64[2] = view(%12) {map=[0:1@0]}
return %13, %13, %12
mutates %12
)");
}

TEST(SettleRegions, AScalarIsReadWhereItStands) {
  LooseGraph b;
  const NodeId x = b.empty(DType::kFloat64, {});
  const NodeId y = b.empty(DType::kFloat64, {});
  const NodeId loop = b.loop(SizeExpr(3));
  const NodeId was_x = b.view(x, IndexMap{}, {});
  b.graph().mutable_node(was_x).type = numpy_scalar_type(DType::kFloat64);
  b.store(x, y);
  b.store(y, was_x);  // the new x would be wrong
  b.end(loop);
  Graph graph = b.finish();
  settle_regions(&graph, {});
  EXPECT_EQ(verify(graph), "%7 (store): it reads version %3, but %6 is newer");
}

TEST(SettleRegions, ABufferOfOneIterationIsNotMergedOutside) {
  LooseGraph b;
  const NodeId condition = b.scalar_placeholder(numpy_scalar_type(DType::kBool));
  const NodeId loop = b.loop(SizeExpr(3));
  const NodeId fresh = b.empty(DType::kFloat64, {});
  const NodeId branch = b.begin_if(condition);
  b.store(fresh, b.constant(1.0));
  b.end(branch);
  b.elementwise(Op::kNegative, {fresh});
  b.end(loop);
  EXPECT_EQ(b.settled(), R"(%0: b8() = placeholder() {input=0, strides=[]}
%1: effect = loop() {counter=s0, trips=3}
%2: f64[] = empty()
%3: effect = if(%0)
%4: py.f64 = constant() {value=1}
%5: f64[] = store(%2, %4)
%6: effect = end(%3)
%7: f64[] = merge(%2)
%8: f64() = negative(%7)
%9: effect = end(%1)
return
)");
}

// ---------------------------------------------------------------- meaning

std::vector<EvalArray> copies(const std::vector<EvalArray>& arrays) {
  std::vector<EvalArray> copied;
  for (const EvalArray& array : arrays) copied.push_back(copy_eval_array(array));
  return copied;
}

// "" when both do the same.
std::string compare_runs(const RandomRegions& made, const Graph& one, const Graph& other) {
  const auto inputs = copies(made.inputs), inputs_of_other = copies(made.inputs);
  const EvalResult expected = evaluate_graph(one, made.symbols, inputs);
  const EvalResult actual = evaluate_graph(other, made.symbols, inputs_of_other);
  if (actual.must_restart != expected.must_restart) return "one restarts";
  if (actual.must_restart) return "";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string difference = compare_arrays(inputs_of_other[i], inputs[i]);
    if (!difference.empty()) return fmt::format("input {}: {}", i, difference);
  }
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    const std::string difference = compare_arrays(actual.outputs[i], expected.outputs[i]);
    if (!difference.empty()) return fmt::format("output {}: {}", i, difference);
  }
  return "";
}

TEST(SettleRegions, KeepsTheMeaningOfRandomGraphs) {
  int finished = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    const RandomRegions made = make_random_regions(seed, 40);
    ASSERT_EQ(verify(made.settled), "") << "seed " << seed << "\n" << graph_text(made.settled);
    ASSERT_EQ(compare_runs(made, made.loose, made.settled), "")
        << "seed " << seed << "\n"
        << graph_text(made.loose) << graph_text(made.settled);
    finished += !evaluate_graph(made.settled, made.symbols, copies(made.inputs)).must_restart;
    const auto parsed = parse_graph(graph_text(made.settled));
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << parsed.error();
    ASSERT_EQ(graph_text(*parsed), graph_text(made.settled)) << "seed " << seed;
  }
  EXPECT_GT(finished, 300);
}

std::string elements_text(const std::string& name, const EvalArray& array) {
  std::string text = name + ":";
  for_each_index(array.dims, [&](auto index) { text += " " + scalar_text(array.load(index)); });
  return text + "\n";
}

// What other ways to run graphs are compared with: tests/parity/test_graph_regions.py.
TEST(Regions, ResultsOfRandomGraphsAreGolden) {
  std::vector<GoldenSection> sections;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    RandomRegions made = make_random_regions(seed, 25);
    run_default_passes(&made.settled);
    sections.push_back({fmt::format("graph {}", seed), graph_text(made.settled)});
    std::string results;
    for (const EvalArray& input : made.inputs) results += elements_text("input", input);
    const EvalResult run = evaluate_graph(made.settled, made.symbols, made.inputs);
    if (run.must_restart) results += "restart\n";
    for (size_t i = 0; i < run.outputs.size() && !run.must_restart; ++i)
      results += elements_text("output", run.outputs[i]);
    for (NodeId id : made.settled.mutated_inputs) {
      if (!run.must_restart) results += elements_text("mutated", run.values[index_of(id)]);
    }
    sections.push_back({"results", results});
  }
  expect_golden(golden_path("graph/regions/random.txt"), sections);
}

TEST(Regions, PassesKeepTheMeaningOfRandomGraphs) {
  size_t before = 0, after = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const RandomRegions made = make_random_regions(seed, 40);
    Graph optimised = made.settled;
    set_verify_enabled(true);
    ASSERT_NO_THROW(run_default_passes(&optimised)) << "seed " << seed;
    set_verify_enabled(false);
    ASSERT_EQ(compare_runs(made, made.settled, optimised), "")
        << "seed " << seed << "\n"
        << graph_text(made.settled) << graph_text(optimised);
    before += made.settled.size();
    after += optimised.size();
  }
  EXPECT_LT(after, before * 9 / 10);
}

}  // namespace
}  // namespace numlift::testing
