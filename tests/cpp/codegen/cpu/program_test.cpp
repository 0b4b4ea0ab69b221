// Whole programs: host calls, NumPy's loops, parallel loops, threads, fork, memory, golden IR.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "nest_builder.h"
#include "numlift/support/options.h"

namespace numlift::codegen::test {
namespace {

constexpr DType kF64 = DType::kFloat64;

// out = x * x + scalar input 0
Program square_plus_scalar(bool parallel, uint8_t fp_checks = kFpAll) {
  NestBuilder b;
  const BufferId x = b.buffer(kF64), out = b.buffer(kF64);
  const VarId i = b.open(symbol(0), true, parallel);
  const ValueId v = b.load(x, {{i, 8}});
  const ValueId sum =
      b.op(Op::kAdd, {b.op(Op::kMultiply, {v, v}, kF64, fp_checks), b.scalar_input(0, kF64)}, kF64,
           fp_checks);
  b.store(out, sum, {{i, 8}});
  b.close();
  b.finish_nest(symbol(0), 2);
  return b.program;
}

TEST(ProgramRun, ParallelLoopsGiveTheSameAsSerialOnes) {
  mutable_options().parallel_threshold = 1;
  Runner runner(square_plus_scalar(true));
  runner.set_scalar(0, 0.25);
  for (int threads : {1, 2, 4}) {
    set_num_threads(threads);
    EXPECT_EQ(get_num_threads(), threads);
    for (int64_t n : {1, 1000, 40000, 300001}) {
      std::vector<double> x(n), out(n);
      for (int64_t i = 0; i < n; ++i) x[i] = 0.001 * static_cast<double>(i);
      ASSERT_EQ(runner.run({x.data(), out.data()}, {n}), 0);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], x[i] * x[i] + 0.25) << i;
      x[n / 2] = 1e200;
      EXPECT_EQ(runner.run({x.data(), out.data()}, {n}), 1) << "restart from a worker's chunk";
    }
  }
  set_num_threads(0);
  reset_options();
}

TEST(ProgramRun, SeveralThreadsMayRunOneProgram) {
  mutable_options().parallel_threshold = 1;
  const Program program = square_plus_scalar(true);
  const auto work = [&](int seed) {
    Runner runner(program);
    runner.set_scalar(0, 1.0);
    for (int round = 0; round < 20; ++round) {
      std::vector<double> x(50000, seed), out(50000);
      ASSERT_EQ(runner.run({x.data(), out.data()}, {50000}), 0);
      for (double value : out) ASSERT_EQ(value, seed * seed + 1.0);
    }
  };
  std::vector<std::thread> threads;
  for (int seed = 1; seed <= 3; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  reset_options();
}

TEST(ProgramRun, ForkedChildRunsSerially) {
  mutable_options().parallel_threshold = 1;
  Runner runner(square_plus_scalar(true));
  runner.set_scalar(0, 1.0);
  std::vector<double> x(100000, 3.0), out(100000);
  ASSERT_EQ(runner.run({x.data(), out.data()}, {100000}), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::fill(out.begin(), out.end(), 0.0);
    const int32_t exit = runner.run({x.data(), out.data()}, {100000});
    _exit(exit == 0 && out.front() == 10.0 && out.back() == 10.0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  reset_options();
}

struct Host {
  std::vector<std::string> calls;
  int64_t* symbols = nullptr;
  int32_t answer = 0;
};

const RuntimeCallbacks kCallbacks = {
    [](void* context, uint32_t step) {
      auto* host = static_cast<Host*>(context);
      host->calls.push_back("extern " + std::to_string(step));
      host->symbols[1] = 3;  // the extern result's size
      return host->answer;
    },
    [](void* context, uint32_t buffer) {
      static_cast<Host*>(context)->calls.push_back("allocate " + std::to_string(buffer));
      return 0;
    },
    [](void* context) -> void* {
      static_cast<Host*>(context)->calls.push_back("release");
      return context;
    },
    [](void* context, void*) { static_cast<Host*>(context)->calls.push_back("acquire"); },
    nullptr,
    nullptr};

TEST(ProgramRun, HostCallsInOrderAndFreshSymbols) {
  NestBuilder b;
  const BufferId x = b.buffer(kF64), out = b.buffer(kF64);
  b.program.steps.push_back(ExternStep{});
  b.program.steps.push_back(AllocateStep{out});
  const VarId i = b.open(symbol(1), true);
  b.store(out, b.op(Op::kNegative, {b.load(x, {{i, 8}})}, kF64), {{i, 8}});
  b.close();
  b.finish_nest(symbol(1));
  auto code = emit_native(b.program, false);
  std::vector<double> data{1, 2, 3, 4}, result(4, 9);
  char* buffers[] = {reinterpret_cast<char*>(data.data()), reinterpret_cast<char*>(result.data())};
  int64_t symbols[] = {4, 0};
  Host host;
  host.symbols = symbols;
  ProgramFrame frame{symbols, buffers, nullptr, &host, &kCallbacks};
  EXPECT_EQ(code->function()(&frame), 0);
  EXPECT_EQ(host.calls, (std::vector<std::string>{"extern 0", "allocate 1"}));
  EXPECT_EQ(result, (std::vector<double>{-1, -2, -3, 9}))
      << "the size is read after the extern call";
  host.answer = 1;
  host.calls.clear();
  EXPECT_EQ(code->function()(&frame), 1);
  EXPECT_EQ(host.calls.size(), 1u) << "nothing runs after a step that stops";
}

TEST(ProgramRun, LongKernelsRunWithoutTheGil) {
  Runner runner(square_plus_scalar(false));
  Host host;
  std::vector<double> x(2000000, 1.0), out(2000000);
  ASSERT_EQ(runner.run({x.data(), out.data()}, {1000}, &kCallbacks, &host), 0);
  EXPECT_TRUE(host.calls.empty());
  ASSERT_EQ(runner.run({x.data(), out.data()}, {2000000}, &kCallbacks, &host), 0);
  EXPECT_EQ(host.calls, (std::vector<std::string>{"release", "acquire"}));
}

void numpy_divide(char** args, const int64_t* dims, const int64_t* steps, void*) {
  for (int64_t i = 0; i < dims[0]; ++i)
    *reinterpret_cast<double*>(args[2] + i * steps[2]) =
        *reinterpret_cast<double*>(args[0] + i * steps[0]) /
        *reinterpret_cast<double*>(args[1] + i * steps[1]);
}

TEST(ProgramRun, NumpysLoopsReportTheirConditions) {
  for (uint8_t checks : {uint8_t{kFpAll}, uint8_t{kFpNone}}) {
    NestBuilder b;
    const BufferId x = b.buffer(kF64), y = b.buffer(kF64), out = b.buffer(kF64);
    b.program.graph.loops.push_back({"divide.dd->d", numpy_divide, nullptr});
    NumpyLoopStep step;
    step.arguments = {{x, 0, 8, {}}, {y, 0, 0, {}}, {out, 0, 8, {}}};
    step.count = symbol(0);
    step.fp_checks = checks;
    b.program.steps.push_back(step);
    Runner runner(b.program);
    std::vector<double> a{1, 2, 3}, d{2}, result(3);
    EXPECT_EQ(runner.run({a.data(), d.data(), result.data()}, {3}), 0);
    EXPECT_EQ(result, (std::vector<double>{0.5, 1, 1.5}));
    d[0] = 0;
    EXPECT_EQ(runner.run({a.data(), d.data(), result.data()}, {3}), checks == kFpAll ? 1 : 0);
  }
}

void numpy_matmul(char** args, const int64_t* dims, const int64_t* steps, void*) {
  const auto element = [&](int argument, int64_t turn, int64_t row, int64_t column) -> double& {
    const int64_t* core = steps + 3 + 2 * argument;
    return *reinterpret_cast<double*>(args[argument] + turn * steps[argument] + row * core[0] +
                                      column * core[1]);
  };
  for (int64_t turn = 0; turn < dims[0]; ++turn)
    for (int64_t i = 0; i < dims[1]; ++i)
      for (int64_t j = 0; j < dims[3]; ++j) {
        element(2, turn, i, j) = 0;
        for (int64_t k = 0; k < dims[2]; ++k)
          element(2, turn, i, j) += element(0, turn, i, k) * element(1, turn, k, j);
      }
}

TEST(ProgramRun, GufuncsGetSizesAndStrides) {
  NestBuilder b;
  const BufferId x = b.buffer(kF64), y = b.buffer(kF64), out = b.buffer(kF64);
  b.program.graph.loops.push_back({"matmul.dd->d", numpy_matmul, nullptr});
  NumpyLoopStep step;
  // Two products of 2 x 3 matrices with the first column of one 3 x 2 matrix.
  step.arguments = {{x, 8, 48, {24, 8}}, {y, 0, 0, {16, 0}}, {out, 0, symbol(1), {8, 0}}};
  step.count = symbol(0);
  step.core_dims = {2, symbol(1) - 13, 1};
  b.program.steps.push_back(step);
  Runner runner(b.program);
  std::vector<double> a{-1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, c{1, 0, 10, 0, 100, 0},
      result(4);
  ASSERT_EQ(runner.run({a.data(), c.data(), result.data()}, {2, 16}), 0);
  EXPECT_EQ(result, (std::vector<double>{321, 654, 987, 1320}));
}

TEST(ProgramRun, LeavesTheFloatingPointFlagsAlone) {
  Runner runner(square_plus_scalar(false, kFpNone));
  runner.set_scalar(0, 0.1);
  std::vector<double> x{1e200, INFINITY, NAN, 0.3}, out(4);
  for (unsigned flags : {0x1F80u, 0x1F80u | 4u}) {
    _mm_setcsr(flags);
    ASSERT_EQ(runner.run({x.data(), out.data()}, {4}), 0);
    EXPECT_EQ(_mm_getcsr(), flags);
  }
  _mm_setcsr(0x1F80);
}

TEST(ProgramRun, PrivateBuffersHoldOneRow) {
  // Row by row: tmp[j] = x[i, j] + 1 in one loop, out[i, j] = tmp[cols - 1 - j] in the next.
  mutable_options().parallel_threshold = 1;
  for (bool constant : {true, false}) {
    const SizeExpr cols = constant ? SizeExpr(21) : symbol(1);
    NestBuilder b;
    const BufferId x = b.buffer(kF64), out = b.buffer(kF64);
    const BufferId tmp = b.private_buffer(kF64, SizeExpr(8) * cols);
    const VarId i = b.open(symbol(0), false, true);
    const VarId j = b.open(cols, true);
    const ValueId v = b.load(x, {{i, SizeExpr(8) * cols}, {j, 8}});
    b.store(tmp, b.op(Op::kAdd, {v, b.constant(kF64, 1.0)}, kF64), {{j, 8}});
    b.close();
    const VarId k = b.open(cols, true);
    b.store(out, b.load(tmp, {{k, -8}}, SizeExpr(8) * (cols - SizeExpr(1))),
            {{i, SizeExpr(8) * cols}, {k, 8}});
    b.close();
    b.close();
    b.finish_nest(symbol(0) * cols);
    Runner runner(b.program);
    const int64_t rows = 3000;
    std::vector<double> x_data(rows * 21), got(rows * 21);
    for (size_t n = 0; n < x_data.size(); ++n) x_data[n] = static_cast<double>(n);
    ASSERT_EQ(runner.run({x_data.data(), got.data(), nullptr}, {rows, 21}), 0);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < 21; ++col)
        ASSERT_EQ(got[row * 21 + col], x_data[row * 21 + 20 - col] + 1);
  }
  reset_options();
}

TEST(ProgramRun, LargeOutputsAreStreamed) {
  Runner runner(square_plus_scalar(true));
  runner.set_scalar(0, 0.5);
  const int64_t n = (3 << 20) + 5;
  for (int64_t shift : {0, 1}) {  // the second output is not aligned
    std::vector<double> x(n, 1.5), memory(n + 16, -1.0);
    double* out = memory.data();
    while (reinterpret_cast<uintptr_t>(out) % 64 != 0) ++out;
    out += shift;
    ASSERT_EQ(runner.run({x.data(), out}, {n}), 0);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 2.75) << i;
    EXPECT_EQ(out[n], -1.0);
  }
}

TEST(ProgramRun, SizeArithmetic) {
  // out[0] = floor(s0 / s1), out[1] = floor_mod, out[2] = min, out[3] = max, out[4] = polynomial
  const SizeExpr a = symbol(0), c = symbol(1);
  const SizeExpr exprs[] = {SizeExpr::floor_div(a, c), SizeExpr::floor_mod(a, c),
                            SizeExpr::min(a, c), SizeExpr::max(a, c),
                            a * a * SizeExpr(3) - a * c + SizeExpr(7)};
  NestBuilder b;
  const BufferId out = b.buffer(DType::kInt64);
  for (int64_t k = 0; k < 5; ++k) {
    Value value;
    value.kind = Value::Kind::kSize;
    value.dtype = DType::kInt64;
    value.size = exprs[k];
    b.nest.values.push_back(value);
    b.nest.root.push_back({Item::Kind::kValue, static_cast<uint32_t>(k)});
    b.store(out, ValueId{static_cast<uint32_t>(k)}, {}, k * 8);
  }
  b.finish_nest(1);
  Runner runner(b.program);
  for (auto [x, y] : {std::pair<int64_t, int64_t>{17, 5}, {-17, 5}, {17, -5}, {0, 3}, {15, -1}}) {
    std::vector<int64_t> got(5);
    ASSERT_EQ(runner.run({got.data()}, {x, y}), 0);
    const int64_t values[] = {x, y};
    for (int k = 0; k < 5; ++k)
      EXPECT_EQ(got[k], *exprs[k].evaluate(values)) << x << " " << y << " " << k;
  }
  std::vector<int64_t> got(5);
  EXPECT_EQ(runner.run({got.data()}, {17, 0}), 0) << "a divisor of 0 does not trap";
}

TEST(ProgramRun, IndexValuesInVectors) {
  NestBuilder b;
  const BufferId out = b.buffer(DType::kInt64);
  const VarId i = b.open(symbol(0), false);
  const VarId j = b.open(symbol(1), true);
  const ValueId sum = b.op(Op::kSubtract, {b.index(i), b.index(j)}, DType::kInt64);
  b.store(out, sum, {{i, SizeExpr(8) * symbol(1)}, {j, 8}});
  b.close();
  b.close();
  b.finish_nest(symbol(0) * symbol(1));
  std::vector<int64_t> got(3 * 13);
  ASSERT_EQ(Runner(b.program).run({got.data()}, {3, 13}), 0);
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t col = 0; col < 13; ++col) ASSERT_EQ(got[row * 13 + col], row - col);
}

int64_t executable_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  int64_t count = 0;
  while (std::getline(maps, line)) {
    const std::string permissions = line.substr(line.find(' ') + 1, 4);
    if (permissions[2] == 'x') {
      ++count;
      EXPECT_NE(permissions[1], 'w') << "writable code: " << line;
    }
  }
  return count;
}

TEST(ProgramMemory, CodeIsFreedWithItsObject) {
  const Program program = square_plus_scalar(true);
  for (int i = 0; i < 5; ++i) emit_native(program, false);
  const int64_t before = executable_mappings();
  {
    std::vector<std::unique_ptr<NativeCode>> kept;
    for (int i = 0; i < 8; ++i) kept.push_back(emit_native(program, false));
    EXPECT_GT(executable_mappings(), before);
  }
  for (int i = 0; i < 200; ++i) emit_native(program, false);
  EXPECT_LE(executable_mappings(), before + 1);
}

// NUMLIFT_UPDATE_GOLDEN=1 rewrites the files. The vector width is pinned to 32 bytes, so that the
// text is the same on every x86-64-v3 machine; as it is read once, the test starts itself anew.
void expect_golden(const std::string& name, const Program& program) {
  std::string text = emit_native(program, true)->ir_text();
  text = text.substr(text.find("define"));
  const std::string path = std::string(NUMLIFT_TEST_DATA) + "/golden/llvm_ir/" + name + ".txt";
  if (std::getenv("NUMLIFT_UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << name;
}

TEST(Golden, LlvmIr) {
  constexpr int kLlvmOfTheFiles = 19;
  if (NUMLIFT_LLVM_MAJOR != kLlvmOfTheFiles) GTEST_SKIP() << "each LLVM writes another text";
  const char* bytes = std::getenv("NUMLIFT_VECTOR_BYTES");
  if (!bytes || std::string(bytes) != "32") {
    const std::string command = "NUMLIFT_VECTOR_BYTES=32 /proc/" + std::to_string(getpid()) +
                                "/exe --gtest_filter=Golden.LlvmIr";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return;
  }
  expect_golden("square_plus_scalar", square_plus_scalar(true));
  {
    NestBuilder b;
    const BufferId x = b.buffer(kF64), out = b.buffer(kF64);
    const VarId i = b.open(symbol(0), true, false, true);
    const ValueId sum = b.reduce(Op::kReduceSum, b.load(x, {{i, 8}}), kF64, {i}, kFpAll);
    b.close();
    b.store(out, sum, {});
    b.finish_nest(symbol(0));
    expect_golden("sum", b.program);
  }
  {
    NestBuilder b;
    const BufferId x = b.buffer(kF64), out = b.buffer(DType::kInt64);
    const VarId i = b.open(symbol(0), true);
    const ValueId sine = b.op(Op::kSin, {b.load(x, {{i, symbol(1)}})}, kF64, kFpAll);
    b.store(out, b.op(Op::kCast, {sine}, DType::kInt64), {{i, 8}});
    b.close();
    b.finish_nest(symbol(0), 20);
    expect_golden("sin_to_int", b.program);
  }
}

}  // namespace
}  // namespace numlift::codegen::test
