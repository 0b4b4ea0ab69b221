// The loads are changed, not the calls: at a load the callable is on top of the stack. What is
// loaded for a call is told by the NULL that stands beside it, or by the method form of the load.
// Callables that are the value of some other expression stay as they are.
#include "numlift/frame_eval/compiled_callees.h"

#include <vector>

#include "numlift/frame_eval/bytecode.h"
#include "numlift/py/py_error.h"

namespace numlift::frame_eval {
namespace {

class CalleeWrapper {
 public:
  CalleeWrapper(BorrowedRef code, BorrowedRef wrap)
      : bytecode_(*decode(code)), wrap_(wrap), null_first_(null_is_before_callable()) {}

  Ref run() {
    const std::vector<Instruction> original = std::exchange(bytecode_.instructions, {});
    std::vector<int32_t> moved;
    for (size_t i = 0; i < original.size(); ++i) {
      moved.push_back(static_cast<int32_t>(bytecode_.instructions.size()));
      add(original, i);
    }
    for (Instruction& instruction : bytecode_.instructions) {
      if (instruction.target != kNoTarget) {
        instruction.target = moved.at(static_cast<size_t>(instruction.target));
      }
    }
    for (Handler& handler : bytecode_.handlers) {
      handler.target = moved.at(static_cast<size_t>(handler.target));
    }
    bytecode_.stack_size += 3;
    return encode(bytecode_);
  }

 private:
  void add(const std::vector<Instruction>& original, size_t i) {
    Instruction load = original[i];
    like_ = load;
    const bool pushes_null = load.op == Instr::kLoadGlobal && load.flag;
    const bool is_method = load.op == Instr::kLoadAttr && load.flag;
    const size_t beside = null_first_ ? i - 1 : i + 1;
    const bool is_plain_load = load.op == Instr::kLoadGlobal || load.op == Instr::kLoadDeref ||
                               load.op == Instr::kLoadFast;
    const bool has_null = is_plain_load && !pushes_null && beside < original.size() &&
                          original[beside].op == Instr::kPushNull;
    if (!pushes_null && !is_method && !has_null) {
      bytecode_.instructions.push_back(load);
      return;
    }
    if (load.op == Instr::kLoadFast) {
      load.flag = false;  // it stands alone now, and so does the one before it
      if (!bytecode_.instructions.empty()) bytecode_.instructions.back().flag &= !is_fast_before();
    } else {
      load.flag = false;
    }
    if (is_method) load.arg = -1;
    bytecode_.instructions.push_back(load);
    wrap_top();
    if (!has_null) {
      emit(Instr::kPushNull);
      if (null_first_) emit(Instr::kSwap, 2);
    }
  }

  bool is_fast_before() const {
    const Instr op = bytecode_.instructions.back().op;
    return op == Instr::kLoadFast || op == Instr::kStoreFast;
  }

  // [value] becomes [wrap(value)].
  void wrap_top() {
    if (null_first_) {
      emit(Instr::kPushNull);
      emit(Instr::kSwap, 2);
    }
    emit(Instr::kLoadConst, -1);
    bytecode_.instructions.back().constant = wrap_;
    emit(Instr::kSwap, 2);
    if (!null_first_) {
      emit(Instr::kPushNull);
      emit(Instr::kSwap, 2);
    }
    emit(Instr::kCall, 1);
  }

  void emit(Instr op, int32_t arg = 0) {
    Instruction instruction;
    instruction.op = op;
    instruction.arg = arg;
    instruction.position = like_.position;
    instruction.handler = like_.handler;
    bytecode_.instructions.push_back(instruction);
  }

  Bytecode bytecode_;
  BorrowedRef wrap_;
  bool null_first_;
  Instruction like_;
};

}  // namespace

Ref code_with_wrapped_callees(BorrowedRef code, BorrowedRef wrap) {
  return CalleeWrapper(code, wrap).run();
}

}  // namespace numlift::frame_eval
