// The new code is [prologue][copy of the user's instructions]. The prologue moves the arguments to
// where they belong, then jumps into the copy, or first runs what stands between: a call of the
// inner frame's function, or the one unit with its ways out. The arguments are new locals in front
// of the user's, whose slots move up by their number.
#include "numlift/py/python.h"

#include "numlift/frame_eval/handover.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cpython/code_object.h"
#include "cpython/eval_frame.h"
#include "cpython/flow.h"
#include "cpython/opcode_table.h"
#include "cpython/units.h"
#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift {

size_t SuspendedFrame::value_count() const {
  return slots.size() + static_cast<size_t>(std::count(stack.begin(), stack.end(), true));
}

// ---------------------------------------------------------------- building

namespace {

// bind(method) gives the method; bind(self, function) the method that the function is of self.
PyObject* bind(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count == 1) return Py_NewRef(arguments[0]);
  PyObject *self = arguments[0], *function = arguments[1];
  return Py_TYPE(function)->tp_descr_get(function, self,
                                         reinterpret_cast<PyObject*>(Py_TYPE(self)));
}

BorrowedRef method_binder() {
  static PyMethodDef definition = {
      "bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(bind)), METH_FASTCALL,
      nullptr};
  static PyObject* const binder = checked(PyCFunction_New(&definition, nullptr)).release();
  return binder;
}

class ResumeBuilder {
 public:
  // `more`: arguments behind the frame's own values. `handover`: how all of them come in.
  ResumeBuilder(const SuspendedFrame& frame, size_t more, const Handover* handover)
      : frame_(frame),
        handover_(handover),
        original_(*frame.bytecode),
        code_(as_code(original_.code)),
        kinds_(local_slots(original_.code)),
        own_(static_cast<int32_t>(frame.value_count())) {
    parameters_ = own_ + static_cast<int32_t>(more);
    if (parameters_ == 0) handover_ = nullptr;
    added_ = parameters_;
  }

  void use_place(int32_t index) {
    const Instruction& instruction = original_.instructions[static_cast<size_t>(index)];
    position_ = instruction.position;
  }
  void use_handler(int32_t handler) { handler_ = handler; }

  // Takes the arguments apart.
  void begin();
  void push_argument(size_t index);  // one of the `more`
  void push_callable(BorrowedRef callable);
  void push_constant(BorrowedRef object);
  void call(size_t arguments);
  // Calls the inner frame's function with the `count` arguments behind the frame's own.
  void call_inner(BorrowedRef inner, size_t count, const Handover* handover);
  void jump_into_copy(int32_t index);
  // What follows raises into a call of `function`, which then goes on to the handler.
  void use_handler_behind(int32_t handler, BorrowedRef function);
  void add_landing();
  void leave(const SuspendedFrame& after, size_t place, BorrowedRef leave_function);
  // The unit of at_unit, with its ways out.
  std::vector<SuspendedFrame> run_unit(const SuspendedFrame& at_unit, BorrowedRef leave_function);
  void add(Instr op, int32_t arg = 0) { prologue_.push_back({make(op, arg), false}); }
  size_t size() const { return prologue_.size(); }
  Instruction& at(size_t index) { return prologue_[index].instruction; }
  void replace_in_copy(int32_t index, size_t prologue_index) {
    replaced_ = index;
    replaced_by_ = prologue_index;
  }

  Ref finish();

 private:
  Instruction make(Instr op, int32_t arg) const {
    Instruction instruction;
    instruction.op = op;
    instruction.arg = arg;
    instruction.position = position_;
    instruction.handler = handler_;
    return instruction;
  }
  void bind_special(int32_t index);
  void add_slot(Instr op, int32_t slot) { prologue_.push_back({make(op, slot), true}); }
  void add_copy(int32_t index) {
    prologue_.push_back({original_.instructions[static_cast<size_t>(index)], true});
  }
  void pop_parameter(int32_t index) {
    add(Instr::kLoadFast, index);
    add(Instr::kDeleteFast, index);
  }
  static bool has_slot(Instr op);
  Ref make_template() const;

  struct Line {
    Instruction instruction;
    bool original_slot;  // arg is a slot of the original: moved once the added ones are counted
  };
  static constexpr int32_t kIntoCopy = -1000;  // targets below it stand for the copy's index

  const SuspendedFrame& frame_;
  const Handover* handover_;
  const Bytecode& original_;
  PyCodeObject* code_;
  std::vector<LocalSlot> kinds_;
  int32_t own_;             // arguments that are the frame's own values
  int32_t parameters_ = 0;  // all arguments
  int32_t added_ = 0;       // locals in front of the original's
  std::vector<Line> prologue_;
  std::vector<Ref> kept_;
  Position position_;
  int32_t handler_ = kNoTarget;
  // A handler of the prologue's own, whose target lies in it.
  struct Landing {
    Handler handler;
    int32_t into = kNoTarget;  // the user's handler, in the copy
    BorrowedRef function;
  };
  std::optional<Landing> landing_;
  int32_t replaced_ = -1;
  size_t replaced_by_ = 0;
};

bool ResumeBuilder::has_slot(Instr op) {
  switch (op) {
    case Instr::kLoadFast:
    case Instr::kLoadFastAndClear:
    case Instr::kStoreFast:
    case Instr::kDeleteFast:
    case Instr::kMakeCell:
    case Instr::kLoadClosure:
    case Instr::kLoadDeref:
    case Instr::kStoreDeref:
    case Instr::kDeleteDeref:
    case Instr::kLoadClassDeref:
    case Instr::kLoadFromDictOrDeref:
      return true;
    default:
      return false;
  }
}

void ResumeBuilder::begin() {
  add(Instr::kResume, 0);
  if (handover_ != nullptr) {
    push_callable(handover_->take);
    call(0);
    add(Instr::kUnpackSequence, parameters_);
    for (int32_t i = 0; i < parameters_; ++i) add(Instr::kStoreFast, i);
  }
  int32_t next_parameter = 0;
  for (const int32_t slot : frame_.slots) {
    // CPython takes a slot's cell for one only behind its MAKE_CELL (locals(), tracebacks).
    if (kinds_[static_cast<size_t>(slot)].is_cell && frame_.next != 0) {
      add_slot(Instr::kMakeCell, slot);
    }
    pop_parameter(next_parameter++);
    add_slot(Instr::kStoreFast, slot);
  }
  // super() without arguments may look for self in the frame's first slot.
  const bool has_class = std::any_of(kinds_.begin(), kinds_.end(), [](const LocalSlot& slot) {
    return slot.is_free && PyUnicode_CompareWithASCIIString(slot.name.get(), "__class__") == 0;
  });
  if (has_class && !frame_.slots.empty() && frame_.slots.front() == 0) {
    // Arguments become cells by the first instructions only.
    const bool is_cell = kinds_.front().is_cell && frame_.next != 0;
    add_slot(is_cell ? Instr::kLoadDeref : Instr::kLoadFast, 0);
    add(Instr::kStoreFast, 0);
  }
  for (const bool is_value : frame_.stack) {
    if (is_value) {
      pop_parameter(next_parameter++);
    } else {
      add(Instr::kPushNull);
    }
  }
}

void ResumeBuilder::push_argument(size_t index) {
  pop_parameter(own_ + static_cast<int32_t>(index));
}

void ResumeBuilder::push_constant(BorrowedRef object) {
  kept_.push_back(Ref::create(object));
  add(Instr::kLoadConst, -1);
  prologue_.back().instruction.constant = object;
}

void ResumeBuilder::push_callable(BorrowedRef callable) {
  if (null_is_before_callable()) add(Instr::kPushNull);
  push_constant(callable);
  if (!null_is_before_callable()) add(Instr::kPushNull);
}

void ResumeBuilder::call(size_t arguments) { add(Instr::kCall, static_cast<int32_t>(arguments)); }

void ResumeBuilder::call_inner(BorrowedRef inner, size_t count, const Handover* handover) {
  if (count == 0) handover = nullptr;
  push_callable(handover != nullptr ? handover->hold : inner);
  for (size_t i = 0; i < count; ++i) push_argument(i);
  call(count);
  if (handover == nullptr) return;
  add(Instr::kPopTop);
  push_callable(inner);
  // super() wants a function with an argument.
  push_constant(Py_None);
  call(1);
}

void ResumeBuilder::jump_into_copy(int32_t index) {
  add(Instr::kJump);
  prologue_.back().instruction.target = kIntoCopy - index;
}

void ResumeBuilder::use_handler_behind(int32_t handler, BorrowedRef function) {
  if (handler == kNoTarget || !function) {
    use_handler(handler);
    return;
  }
  const Handler& users = original_.handlers[static_cast<size_t>(handler)];
  landing_ = Landing{users, users.target, function};
  use_handler(static_cast<int32_t>(original_.handlers.size()));
}

// The exception lies on the stack and is not handled yet: it stays there.
void ResumeBuilder::add_landing() {
  if (!landing_) return;
  use_handler(kNoTarget);
  landing_->handler.target = static_cast<int32_t>(size());
  push_callable(landing_->function);
  call(0);
  add(Instr::kPopTop);
  jump_into_copy(landing_->into);
}

void ResumeBuilder::leave(const SuspendedFrame& after, size_t place, BorrowedRef leave_function) {
  const auto depth = static_cast<int32_t>(after.stack.size());
  added_ = std::max(added_, depth);
  for (int32_t i = depth; i-- > 0;) add(Instr::kStoreFast, i);
  push_callable(leave_function);
  push_constant(checked(PyLong_FromSize_t(place)));
  for (const int32_t slot : after.slots) {
    const LocalSlot& kind = kinds_[static_cast<size_t>(slot)];
    add_slot(kind.is_cell || kind.is_free ? Instr::kLoadClosure : Instr::kLoadFast, slot);
  }
  for (int32_t i = 0; i < depth; ++i) {
    if (after.stack[static_cast<size_t>(i)]) add(Instr::kLoadFast, i);
  }
  call(1 + after.value_count());
  add(Instr::kReturnValue);
}

// Behind LOAD_SPECIAL lie a function and its self, or a bound method and NULL: the code cannot tell
// which. Where they stay for the body of the `with` they become the latter.
void ResumeBuilder::bind_special(int32_t index) {
  const auto& instructions = original_.instructions;
  if (instructions[static_cast<size_t>(index)].op != Instr::kLoadSpecial ||
      instructions[static_cast<size_t>(index + 1)].op == Instr::kCall)
    return;
  push_constant(method_binder());
  add(Instr::kSwap, 3);
  add(Instr::kCall, 1);  // with one argument, or with two
  add(Instr::kPushNull);
}

std::vector<SuspendedFrame> ResumeBuilder::run_unit(const SuspendedFrame& at_unit,
                                                    BorrowedRef leave_function) {
  const InstructionUnit unit = unit_at(original_, at_unit.next);
  std::vector<SuspendedFrame> after;
  std::vector<int32_t> set = at_unit.slots;
  std::vector<bool> stack = at_unit.stack;
  const auto add_after = [&](int32_t next, std::vector<bool> left) {
    after.push_back({at_unit.bytecode, at_unit.globals, next, set, std::move(left)});
  };
  // CPython 3.13 looks for the handler of what a frame raises that its own specialised instruction
  // has pushed (a[i] by a __getitem__ in Python) one code unit before that instruction.
  use_handler(original_.instructions[static_cast<size_t>(unit.begin)].handler);
  add(Instr::kNop);
  use_handler(kNoTarget);
  for (int32_t i = unit.begin; i + 1 < unit.end; ++i) {
    add_copy(i);
    bind_special(i);
    advance(original_.instructions[static_cast<size_t>(i)], false, &stack);
  }
  const Instruction& last = original_.instructions[static_cast<size_t>(unit.end - 1)];
  const bool tests_truth = last.op == Instr::kJumpIfFalse || last.op == Instr::kJumpIfTrue;
  if (tests_truth && find_row(Instr::kToBool, Form::kPlain) != nullptr) {
    // The jump takes a bool only, and the trace may have left the value as it was.
    add_copy(unit.end - 1);
    at(size() - 1).op = Instr::kToBool;
    at(size() - 1).target = kNoTarget;
    at(size() - 1).flag = false;
    at(size() - 1).flag2 = false;
    at(size() - 1).arg = 0;
  }
  const size_t place = size();
  add_copy(unit.end - 1);
  const bool was_set = std::binary_search(set.begin(), set.end(), last.arg);
  if (last.op == Instr::kStoreFast || last.op == Instr::kDeleteFast ||
      last.op == Instr::kLoadFastAndClear) {
    std::erase(set, last.arg);
  }
  if ((last.op == Instr::kStoreFast && stack.back()) || last.op == Instr::kMakeCell) {
    std::erase(set, last.arg);
    set.insert(std::lower_bound(set.begin(), set.end(), last.arg), last.arg);
  }
  if (is_method_load(last)) {
    // As a plain load: what it leaves is then the attribute and a NULL, whatever was found.
    at(place).flag = false;
    at(place).arg = -1;
    use_place(unit.end - 1);
    add(Instr::kPushNull);
    if (null_is_before_callable()) add(Instr::kSwap, 2);
  }
  use_handler(kNoTarget);
  use_place(unit.end - 1);
  if (falls_through(last)) {
    std::vector<bool> passed = stack;
    advance(last, false, &passed);
    if (last.op == Instr::kLoadFastAndClear) passed.back() = was_set;
    int32_t next = unit.end;
    if (drops_result(original_, unit)) {
      // A value that nobody wants goes at once, not when the next program has run.
      add(Instr::kPopTop);
      passed.pop_back();
      ++next;
    }
    add_after(next, std::move(passed));
    leave(after.back(), after.size() - 1, leave_function);
  }
  if (last.target != kNoTarget) {
    std::vector<bool> jumped = stack;
    advance(last, true, &jumped);
    add_after(last.target, std::move(jumped));
    if (last.op == Instr::kForIter) {
      // The loop's end stands before its target.
      for (int32_t i = last.target; i-- > 0;) {
        const Instr op = original_.instructions[static_cast<size_t>(i)].op;
        if (op == Instr::kEndFor) {
          for (; i < last.target; ++i) {
            add_copy(i);
            prologue_.back().instruction.handler = kNoTarget;
          }
          break;
        }
        if (op != Instr::kPopTop && op != Instr::kPopIter) break;
      }
    }
    at(place).target = static_cast<int32_t>(size());
    leave(after.back(), after.size() - 1, leave_function);
  }
  return after;
}

Ref ResumeBuilder::make_template() const {
  const Ref varnames = checked(PyCode_GetVarnames(code_));
  const Py_ssize_t total = added_ + PyTuple_GET_SIZE(varnames.get());
  Ref names = checked(PyTuple_New(total));
  for (Py_ssize_t i = 0; i < total; ++i) {
    PyObject* name = i < added_ ? PyUnicode_InternFromString(fmt::format(".numlift{}", i).c_str())
                                : Py_NewRef(PyTuple_GET_ITEM(varnames.get(), i - added_));
    PyTuple_SET_ITEM(names.get(), i, checked(name).release());
  }
  return make_code_with_locals(code_, handover_ != nullptr ? 1 : parameters_, names);
}

Ref ResumeBuilder::finish() {
  Bytecode bytecode;
  bytecode.code = make_template();
  bytecode.handlers = original_.handlers;
  bytecode.nlocals = original_.nlocals + added_;
  bytecode.nslots = original_.nslots + added_;
  bytecode.stack_size = original_.stack_size;
  const auto base = static_cast<int32_t>(prologue_.size());
  for (Handler& handler : bytecode.handlers) handler.target += base;
  if (landing_) bytecode.handlers.push_back(landing_->handler);
  bytecode.instructions.reserve(prologue_.size() + original_.instructions.size());
  for (Line& line : prologue_) {
    Instruction& instruction = line.instruction;
    if (instruction.target <= kIntoCopy) instruction.target = kIntoCopy - instruction.target + base;
    if (line.original_slot && has_slot(instruction.op)) instruction.arg += added_;
    bytecode.instructions.push_back(instruction);
  }
  for (Instruction instruction : original_.instructions) {
    if (instruction.target != kNoTarget) instruction.target += base;
    if (has_slot(instruction.op)) instruction.arg += added_;
    bytecode.instructions.push_back(std::move(instruction));
  }
  if (replaced_ >= 0) {
    Instruction& instruction = bytecode.instructions[static_cast<size_t>(base + replaced_)];
    const Position position = instruction.position;
    instruction = Instruction{};
    instruction.op = Instr::kJump;
    instruction.flag = true;
    instruction.flag2 = true;
    instruction.position = position;
    instruction.target = static_cast<int32_t>(replaced_by_);
  }
  const Ref code = encode(bytecode);
  check_status(numlift_keep_with_code(as_code(code), NUMLIFT_PLAIN_CODE));
  return checked(PyFunction_New(code.get(), frame_.globals.get()));
}

}  // namespace

Ref make_rest_function(const SuspendedFrame& frame, const Handover* handover) {
  ResumeBuilder builder(frame, 0, handover);
  builder.use_place(frame.next);
  builder.begin();
  builder.jump_into_copy(frame.next);
  return builder.finish();
}

Ref make_outer_function(const SuspendedFrame& frame, BorrowedRef inner, size_t inner_values,
                        BorrowedRef left, BorrowedRef forget, const Handover* handover,
                        const Handover* inner_handover) {
  // The call that the frame waits for stands before `next`.
  const int32_t caller = frame.next - 1;
  ResumeBuilder builder(frame, inner_values, handover);
  builder.use_place(caller);
  builder.begin();
  builder.use_handler_behind(frame.bytecode->instructions[static_cast<size_t>(caller)].handler,
                             forget);
  builder.call_inner(inner, inner_values, inner_handover);
  if (left) {
    builder.use_handler(kNoTarget);
    builder.add(Instr::kCopy, 1);
    builder.push_constant(left);
    builder.add(Instr::kIsOp, 0);
    builder.add(Instr::kJumpIfFalse);
    const size_t stays = builder.size() - 1;
    builder.add(Instr::kReturnValue);
    builder.at(stays).target = static_cast<int32_t>(builder.size());
  }
  builder.use_handler(kNoTarget);
  builder.jump_into_copy(frame.next);
  builder.add_landing();
  return builder.finish();
}

UnitFunction make_unit_function(const SuspendedFrame& frame, const SuspendedFrame& at_unit,
                                BorrowedRef leave, const Handover* handover) {
  ResumeBuilder builder(frame, 0, handover);
  builder.use_place(frame.next);
  builder.begin();
  UnitFunction made;
  if (frame.next != at_unit.next) {
    builder.jump_into_copy(frame.next);
    builder.replace_in_copy(at_unit.next, builder.size());
  }
  made.after = builder.run_unit(at_unit, leave);
  made.function = builder.finish();
  return made;
}

Ref make_rest_function(const SuspendedFrame& frame) { return make_rest_function(frame, nullptr); }

Ref make_outer_function(const SuspendedFrame& frame, BorrowedRef inner, size_t inner_values,
                        BorrowedRef left) {
  return make_outer_function(frame, inner, inner_values, left, nullptr, nullptr, nullptr);
}

UnitFunction make_unit_function(const SuspendedFrame& frame, const SuspendedFrame& at_unit,
                                BorrowedRef leave) {
  return make_unit_function(frame, at_unit, leave, nullptr);
}

std::string resume_name(BorrowedRef code, const Instruction& at) {
  const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.get())->co_name);
  if (name == nullptr) throw PyError();
  return fmt::format("numlift_resume_in_{}_at_{}", name, at.position.line);
}

}  // namespace numlift
