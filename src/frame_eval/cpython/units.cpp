#include "numlift/py/python.h"

#include "cpython/units.h"

#include <algorithm>
#include <span>

#include "numlift/support/check.h"

namespace numlift {

bool is_method_load(const Instruction& instruction) {
  return (instruction.op == Instr::kLoadAttr || instruction.op == Instr::kLoadSuperAttr) &&
         instruction.flag;
}

namespace {

// Instructions that put nothing onto the stack.
bool pushes_nothing(const Instruction& instruction) {
  switch (instruction.op) {
    case Instr::kPopTop:
    case Instr::kStoreFast:
    case Instr::kDeleteFast:
    case Instr::kStoreDeref:
    case Instr::kDeleteDeref:
    case Instr::kStoreName:
    case Instr::kDeleteName:
    case Instr::kStoreGlobal:
    case Instr::kDeleteGlobal:
    case Instr::kStoreAttr:
    case Instr::kDeleteAttr:
    case Instr::kStoreSubscript:
    case Instr::kStoreSlice:
    case Instr::kDeleteSubscript:
    case Instr::kListAppend:
    case Instr::kListExtend:
    case Instr::kSetAdd:
    case Instr::kSetUpdate:
    case Instr::kMapAdd:
    case Instr::kDictUpdate:
    case Instr::kDictMerge:
    case Instr::kJump:
    case Instr::kJumpIfFalse:
    case Instr::kJumpIfTrue:
    case Instr::kJumpIfNone:
    case Instr::kJumpIfNotNone:
    case Instr::kJumpIfFalseOrPop:
    case Instr::kJumpIfTrueOrPop:
    case Instr::kSetupAnnotations:
    case Instr::kPopExcept:
    case Instr::kPopIter:
    case Instr::kEndFor:
    case Instr::kNop:
    case Instr::kResume:
    case Instr::kKwNames:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Operands are never NULL but for a call's callable, so that what lies under the result is as
// before.
void advance(const Instruction& instruction, bool jump, std::vector<bool>* stack) {
  const int effect = stack_effect(instruction, jump);
  NUMLIFT_CHECK(static_cast<int>(stack->size()) + effect >= 0, "the stack underflows at a unit");
  stack->resize(static_cast<size_t>(static_cast<int>(stack->size()) + effect), true);
  if (jump || pushes_nothing(instruction)) return;
  if (instruction.op == Instr::kSwap) {
    const size_t other = stack->size() - static_cast<size_t>(instruction.arg);
    const bool top = stack->back();
    stack->back() = (*stack)[other];
    (*stack)[other] = top;
    return;
  }
  if (instruction.op == Instr::kCopy) {
    stack->back() = (*stack)[stack->size() - 1 - static_cast<size_t>(instruction.arg)];
    return;
  }
  if (instruction.op == Instr::kPushNull) {
    stack->back() = false;
    return;
  }
  if (!stack->empty()) stack->back() = true;
  if (instruction.op == Instr::kLoadSpecial) {
    stack->back() = false;  // as bind_special() leaves it
  } else if (instruction.op == Instr::kLoadGlobal && instruction.flag) {
    (*stack)[stack->size() - (null_is_before_callable() ? 2 : 1)] = false;
  } else if (is_method_load(instruction)) {
    const size_t first = stack->size() - 2;
    (*stack)[first] = !null_is_before_callable();
    (*stack)[first + 1] = null_is_before_callable();
  }
}

bool drops_result(const Bytecode& bytecode, const InstructionUnit& unit) {
  const auto& instructions = bytecode.instructions;
  const Instr op = instructions[static_cast<size_t>(unit.end - 1)].op;
  const bool is_call = op == Instr::kCall || op == Instr::kCallKw || op == Instr::kCallFunctionEx;
  return is_call && instructions[static_cast<size_t>(unit.end)].op == Instr::kPopTop;
}

namespace {

// From 3.14 on `with` looks up __exit__ and __enter__, then calls the latter. Between them lies
// what a function could not go on from: a unit ends behind the call, whichever lookup it begins
// with.
constexpr Instr kEntersWith[] = {Instr::kLoadSpecial, Instr::kSwap, Instr::kSwap,
                                 Instr::kLoadSpecial, Instr::kCall};

using Instructions = std::span<const Instr>;

bool stands_at(const Bytecode& bytecode, int32_t index, Instructions ops) {
  const auto rest = std::span(bytecode.instructions).subspan(static_cast<size_t>(index));
  return rest.size() >= ops.size() &&
         std::equal(ops.begin(), ops.end(), rest.begin(),
                    [](Instr op, const Instruction& instruction) { return op == instruction.op; });
}

}  // namespace

InstructionUnit unit_at(const Bytecode& bytecode, int32_t index) {
  for (const Instructions ops : {Instructions(kEntersWith), Instructions(kEntersWith).last(2)}) {
    if (stands_at(bytecode, index, ops)) return {index, index + static_cast<int32_t>(ops.size())};
  }
  int32_t end = index + 1;
  if (bytecode.instructions[static_cast<size_t>(index)].op == Instr::kKwNames) ++end;
  return {index, end};
}

bool can_leave_after(const Bytecode& bytecode, const InstructionUnit& unit) {
  switch (bytecode.instructions[static_cast<size_t>(unit.end - 1)].op) {
    // They belong to a protocol of several instructions, or leave NULLs that cannot be foreseen.
    case Instr::kLoadSpecial:
    case Instr::kSend:
    case Instr::kYieldValue:
    case Instr::kReturnGenerator:
    case Instr::kGetAwaitable:
    case Instr::kGetAiter:
    case Instr::kGetAnext:
    case Instr::kEndAsyncFor:
    case Instr::kBeforeAsyncWith:
    case Instr::kPushExcInfo:
    case Instr::kWithExceptStart:
    case Instr::kCheckExcMatch:
    case Instr::kCheckEgMatch:
    case Instr::kPopExcept:
    case Instr::kCopyFreeVars:
      return false;
    default:
      return true;
  }
}

}  // namespace numlift
