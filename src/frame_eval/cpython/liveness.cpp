// Which of a frame's variables its code may still look at.
#include "numlift/py/python.h"

#include "numlift/frame_eval/resume_code.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "cpython/code_object.h"
#include "cpython/flow.h"
#include "numlift/py/py_error.h"

namespace numlift {

namespace {

// Names through which code looks at the locals of its own frame.
constexpr std::string_view kFrameReaders[] = {"locals", "vars",  "dir",      "eval",
                                              "exec",   "super", "__class__"};
constexpr std::string_view kFrameKeepers[] = {"_getframe",  "currentframe", "settrace",
                                              "setprofile", "set_trace",    "breakpoint"};

bool has_name(PyCodeObject* code, std::span<const std::string_view> wanted) {
  for (PyObject* names : {code->co_names, code->co_localsplusnames}) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      const char* text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
      if (text == nullptr) throw PyError();
      if (std::find(wanted.begin(), wanted.end(), text) != wanted.end()) return true;
    }
  }
  return false;
}

bool reads_slot(Instr op) {
  return op == Instr::kLoadFast || op == Instr::kLoadFastAndClear || op == Instr::kDeleteFast ||
         op == Instr::kLoadClosure || op == Instr::kMakeCell;
}

}  // namespace

std::vector<int32_t> live_slots(const Bytecode& bytecode, const std::vector<int32_t>& starts,
                                const std::vector<int32_t>& set) {
  PyCodeObject* code = as_code(bytecode.code);
  if (has_name(code, kFrameReaders) || has_name(code, kFrameKeepers)) return set;
  const auto& instructions = bytecode.instructions;
  const auto slots = local_slots(bytecode.code);
  std::vector<int32_t> live;
  std::vector<char> seen;
  std::vector<int32_t> pending;
  for (const int32_t slot : set) {
    const LocalSlot& kind = slots[static_cast<size_t>(slot)];
    if (kind.is_cell || kind.is_free) {
      live.push_back(slot);
      continue;
    }
    // Forward until the slot is read or written on each path.
    bool is_read = false;
    seen.assign(instructions.size(), 0);
    pending = starts;
    while (!pending.empty() && !is_read) {
      int32_t index = pending.back();
      pending.pop_back();
      for (; index < static_cast<int32_t>(instructions.size()); ++index) {
        if (std::exchange(seen[static_cast<size_t>(index)], 1)) break;
        const Instruction& instruction = instructions[static_cast<size_t>(index)];
        const bool is_here = instruction.arg == slot;
        if (is_here && reads_slot(instruction.op)) {
          is_read = true;
          break;
        }
        if (instruction.handler != kNoTarget) {
          pending.push_back(bytecode.handlers[static_cast<size_t>(instruction.handler)].target);
        }
        if (is_here && instruction.op == Instr::kStoreFast) break;
        if (instruction.target != kNoTarget) pending.push_back(instruction.target);
        if (!falls_through(instruction)) break;
      }
    }
    if (is_read) live.push_back(slot);
  }
  return live;
}

bool keeps_its_frame(const Bytecode& bytecode) {
  return has_name(as_code(bytecode.code), kFrameKeepers);
}

}  // namespace numlift
