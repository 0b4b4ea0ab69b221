// Hand-made programs of one loop nest, compiled and run: what the back end's tests stand on.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "numlift/codegen/compile.h"

namespace numlift::codegen::test {

inline VarId var(uint32_t index) { return VarId{index}; }
inline SizeExpr symbol(uint32_t index) { return SizeExpr::symbol(SymbolId{index}); }

// Builds one nest. Items are appended to the body of the loop opened last (or to the root).
class NestBuilder {
 public:
  using Strides = std::vector<std::pair<VarId, SizeExpr>>;

  BufferId buffer(DType dtype) {
    Buffer buffer;
    buffer.kind = Buffer::Kind::kArray;
    buffer.dtype = dtype;
    program.buffers.push_back(buffer);
    return BufferId{static_cast<uint32_t>(program.buffers.size() - 1)};
  }
  BufferId private_buffer(DType dtype, SizeExpr bytes) {
    const BufferId id = buffer(dtype);
    program.buffers.back().kind = Buffer::Kind::kPrivate;
    program.buffers.back().bytes = std::move(bytes);
    return id;
  }

  VarId open(SizeExpr extent, bool vector = false, bool parallel = false, bool reduction = false) {
    Loop loop;
    loop.extent = std::move(extent);
    loop.vector = vector;
    loop.parallel = parallel;
    loop.reduction = reduction;
    nest.loops.push_back(loop);
    const auto index = static_cast<uint32_t>(nest.loops.size() - 1);
    items().push_back({Item::Kind::kLoop, index});
    open_.push_back(index);
    return VarId{index};
  }
  void close() { open_.pop_back(); }

  ValueId load(BufferId buffer, Strides strides, SizeExpr offset = 0) {
    Value value;
    value.kind = Value::Kind::kLoad;
    value.dtype = dtype_of(buffer);
    value.access = {buffer, std::move(offset), std::move(strides)};
    return append(value);
  }
  ValueId op(Op op, std::vector<ValueId> operands, DType dtype, uint8_t fp_checks = kFpNone) {
    Value value;
    value.op = op;
    value.operands = std::move(operands);
    value.dtype = dtype;
    value.fp_checks = fp_checks;
    return append(value);
  }
  template <class T>
  ValueId constant(DType dtype, T number) {
    Value value;
    value.kind = Value::Kind::kConstant;
    value.dtype = dtype;
    value.constant.dtype = dtype;
    __builtin_memcpy(value.constant.bytes.data(), &number, sizeof number);
    return append(value);
  }
  ValueId scalar_input(uint32_t input, DType dtype) {
    Value value;
    value.kind = Value::Kind::kScalarInput;
    value.dtype = dtype;
    value.input = input;
    return append(value);
  }
  ValueId index(VarId var) {
    Value value;
    value.kind = Value::Kind::kIndex;
    value.dtype = DType::kInt64;
    value.var = var;
    return append(value);
  }
  void store(BufferId buffer, ValueId value, Strides strides, SizeExpr offset = 0) {
    nest.stores.push_back({{buffer, std::move(offset), std::move(strides)}, value});
    items().push_back({Item::Kind::kStore, static_cast<uint32_t>(nest.stores.size() - 1)});
  }
  // Carried by loops[0]; the result is a value that may be used after that loop.
  ValueId reduce(Op op, ValueId operand, DType result, std::vector<VarId> loops,
                 uint8_t fp_checks = kFpNone, ValueId position = kNoValue) {
    Value value;
    value.kind = Value::Kind::kReduction;
    value.dtype = result;
    nest.values.push_back(value);
    const ValueId id{static_cast<uint32_t>(nest.values.size() - 1)};
    Reduction reduction{op, operand, position, id, loops, fp_checks};
    nest.loops[static_cast<uint32_t>(loops[0])].reductions.push_back(reduction);
    return id;
  }
  DType dtype_of(BufferId id) const { return program.buffers[static_cast<uint32_t>(id)].dtype; }

  // Adds the nest to the program as its next step; the builder starts a new one.
  void finish_nest(SizeExpr work, int cost = 1) {
    nest.work = std::move(work);
    nest.cost = cost;
    program.steps.push_back(NestStep{nest});
    nest = {};
  }

  Program program;
  LoopNest nest;

 private:
  std::vector<Item>& items() { return open_.empty() ? nest.root : nest.loops[open_.back()].body; }
  ValueId append(const Value& value) {
    nest.values.push_back(value);
    const auto index = static_cast<uint32_t>(nest.values.size() - 1);
    items().push_back({Item::Kind::kValue, index});
    return ValueId{index};
  }
  std::vector<uint32_t> open_;
};

// Machine code of a program with memory for its frame.
class Runner {
 public:
  explicit Runner(const Program& program, bool keep_ir = false)
      : code_(emit_native(program, keep_ir)), buffers_(program.buffers.size(), nullptr) {}

  int32_t run(std::vector<void*> buffers, std::vector<int64_t> symbols = {},
              const RuntimeCallbacks* callbacks = nullptr, void* context = nullptr) {
    for (size_t i = 0; i < buffers.size(); ++i) buffers_[i] = static_cast<char*>(buffers[i]);
    ProgramFrame frame{symbols.data(), buffers_.data(), scalars_, context, callbacks};
    return code_->function()(&frame);
  }
  template <class T>
  void set_scalar(size_t input, T value) {
    __builtin_memcpy(scalars_[input].bytes, &value, sizeof value);
  }
  NativeCode& code() { return *code_; }

 private:
  std::unique_ptr<NativeCode> code_;
  std::vector<char*> buffers_;
  ScalarSlot scalars_[8] = {};
};

}  // namespace numlift::codegen::test
