// A small host of programs without Python: allocates buffers, runs the native function, gives the
// results. All memory that a program may write lies between guard bytes.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "numlift/codegen/compile.h"
#include "numlift/support/check.h"
#include "support/graph_eval.h"

namespace numlift::testing {

struct HostResult {
  int32_t exit_code = 0;
  std::vector<EvalArray> outputs;  // empty after a restart
  bool guards_intact = true;
};

class TestHost {
 public:
  using Function = std::function<int32_t(codegen::ProgramFrame*)>;
  TestHost(const codegen::Program& program, Function function, std::vector<int64_t> symbols,
           std::vector<EvalArray> inputs)
      : program_(program),
        function_(std::move(function)),
        symbols_(std::move(symbols)),
        inputs_(std::move(inputs)),
        arrays_(program.buffers.size()),
        pointers_(program.buffers.size(), nullptr) {}

  HostResult run() {
    allocate();
    std::vector<codegen::ScalarSlot> scalars(inputs_.size() + 1);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].dims.empty()) {
        std::memcpy(scalars[i].bytes, inputs_[i].origin,
                    static_cast<size_t>(item_size(inputs_[i].dtype)));
      }
    }
    const codegen::RuntimeCallbacks callbacks{[](void*, uint32_t) { return 1; },
                                              [](void* self, uint32_t buffer) {
                                                static_cast<TestHost*>(self)->allocate_one(buffer);
                                                return 0;
                                              },
                                              [](void*) -> void* { return nullptr; },
                                              [](void*, void*) {},
                                              [](void* self, uint32_t buffer, int64_t bytes) {
                                                auto* host = static_cast<TestHost*>(self);
                                                host->pointers_[buffer] =
                                                    host->new_block(static_cast<size_t>(bytes));
                                                return 0;
                                              },
                                              [](void* self) {
                                                auto* host = static_cast<TestHost*>(self);
                                                ++host->polls;
                                                return host->polls == host->stop_at_poll ? 1 : 0;
                                              }};
    codegen::ProgramFrame frame{symbols_.data(), pointers_.data(), scalars.data(), this,
                                &callbacks};
    HostResult result;
    result.exit_code = function_(&frame);
    for (size_t i = 0; i < pointers_.size(); ++i) {
      if (program_.buffers[i].moves) arrays_[i].origin = pointers_[i];
    }
    is_suspicious = result.exit_code == static_cast<int32_t>(codegen::ExitCode::kSuspicious);
    for (const auto& block : blocks_) result.guards_intact = result.guards_intact && intact(*block);
    if (result.exit_code != 0) return result;
    for (const codegen::ValueRef& output : program_.outputs) {
      result.outputs.push_back(value_of(output));
    }
    return result;
  }

  bool is_suspicious = false;
  int polls = 0;
  int stop_at_poll = -1;

 private:
  static constexpr size_t kGuard = 256;
  static constexpr char kGuardByte = 0x5A;

  int64_t size(const SizeExpr& expr) const {
    const auto value = expr.evaluate(symbols_);
    NUMLIFT_CHECK(value, "{} overflows", expr.text());
    return *value;
  }
  std::vector<int64_t> sizes(const std::vector<SizeExpr>& exprs) const {
    std::vector<int64_t> values;
    for (const SizeExpr& expr : exprs) values.push_back(size(expr));
    return values;
  }

  char* new_block(size_t bytes) {
    blocks_.push_back(std::make_unique<std::vector<char>>(bytes + 2 * kGuard, kGuardByte));
    char* start = blocks_.back()->data() + kGuard;
    std::memset(start, 0xEE, bytes);
    return start;
  }
  static bool intact(const std::vector<char>& block) {
    for (size_t i = 0; i < kGuard; ++i) {
      if (block[i] != kGuardByte || block[block.size() - 1 - i] != kGuardByte) return false;
    }
    return true;
  }

  void allocate_one(size_t i) {
    const codegen::Buffer& buffer = program_.buffers[i];
    EvalArray& array = arrays_[i];
    array.dtype = buffer.dtype;
    array.dims = sizes(buffer.dims);
    array.strides = sizes(buffer.strides);
    array.origin = new_block(static_cast<size_t>(array.size() * item_size(buffer.dtype)));
    pointers_[i] = array.origin;
  }

  void allocate() {
    std::vector<char*> slots;
    for (size_t i = 0; i < program_.temp_slot_bytes.size(); ++i) {
      const bool is_grown = program_.grown_slots[i];
      slots.push_back(is_grown ? nullptr
                               : new_block(static_cast<size_t>(size(program_.temp_slot_bytes[i]))));
    }
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const codegen::Buffer& buffer = program_.buffers[i];
      switch (buffer.kind) {
        case codegen::Buffer::Kind::kInput:
          arrays_[i] = inputs_[buffer.input];
          break;
        case codegen::Buffer::Kind::kArray:
        case codegen::Buffer::Kind::kScalar:
          if (!program_.allocate_late[i]) allocate_one(i);
          break;
        case codegen::Buffer::Kind::kTemp:
          arrays_[i].origin = slots[buffer.slot];
          break;
        case codegen::Buffer::Kind::kPrivate:
        case codegen::Buffer::Kind::kLocal:
        case codegen::Buffer::Kind::kExtern:
          break;
      }
      pointers_[i] = arrays_[i].origin;
    }
  }

  EvalArray value_of(const codegen::ValueRef& value) const {
    using Kind = codegen::ValueRef::Kind;
    switch (value.kind) {
      case Kind::kBufferArray:
      case Kind::kNumpyScalar:
      case Kind::kPyScalar:
        return arrays_[static_cast<size_t>(value.buffer)];
      case Kind::kInputObject:
        return inputs_[value.input];
      case Kind::kView:
        return wrap_eval_array(
            value.dtype, sizes(value.dims), sizes(value.strides),
            arrays_[static_cast<size_t>(value.buffer)].origin + size(value.offset));
      case Kind::kSize:
        return make_eval_scalar(make_scalar<int64_t>(DType::kInt64, size(value.size)));
      case Kind::kObject:
        break;
    }
    NUMLIFT_CHECK(false, "objects need Python");
  }

  const codegen::Program& program_;
  Function function_;
  std::vector<int64_t> symbols_;
  std::vector<EvalArray> inputs_;
  std::vector<EvalArray> arrays_;
  std::vector<char*> pointers_;
  std::vector<std::unique_ptr<std::vector<char>>> blocks_;
};

}  // namespace numlift::testing
