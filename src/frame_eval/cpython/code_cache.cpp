// One code-extra slot holds the decoded form.
//
// A code object must not own what owns it, or neither dies. So the kept Bytecode's `code` holds no
// reference of its own (its deleter lets go of it without dropping one), while each pointer handed
// out owns a reference besides the kept Bytecode. Copying a Bytecode makes an owning `code` again.
#include "numlift/py/python.h"

#include "cpython/code_cache.h"

#include "numlift/py/py_error.h"

namespace numlift {
namespace {

struct ReleaseCode {
  void operator()(Bytecode* bytecode) const {
    static_cast<void>(bytecode->code.release());
    delete bytecode;
  }
};
using Kept = std::shared_ptr<Bytecode>;

struct HandedOut {
  Ref code;
  Kept kept;
};

extern "C" void free_kept(void* extra) { delete static_cast<Kept*>(extra); }

#if PY_VERSION_HEX >= 0x030C0000
constexpr auto kRequestIndex = PyUnstable_Eval_RequestCodeExtraIndex;
constexpr auto kGetExtra = PyUnstable_Code_GetExtra;
constexpr auto kSetExtra = PyUnstable_Code_SetExtra;
#else
constexpr auto kRequestIndex = _PyEval_RequestCodeExtraIndex;
constexpr auto kGetExtra = _PyCode_GetExtra;
constexpr auto kSetExtra = _PyCode_SetExtra;
#endif

// Negative when the interpreter's few slots are all taken: then nothing is kept.
Py_ssize_t extra_index() {
  static const Py_ssize_t index = kRequestIndex(free_kept);
  return index;
}

std::shared_ptr<const Bytecode> hand_out(BorrowedRef code, const Kept& kept) {
  auto handed_out = std::make_shared<HandedOut>(HandedOut{Ref::create(code), kept});
  return {handed_out, handed_out->kept.get()};
}

}  // namespace

std::shared_ptr<const Bytecode> find_decoded(BorrowedRef code) {
  if (extra_index() < 0) return nullptr;
  void* extra = nullptr;
  check_status(kGetExtra(code.get(), extra_index(), &extra));
  return extra == nullptr ? nullptr : hand_out(code, *static_cast<Kept*>(extra));
}

std::shared_ptr<const Bytecode> keep_decoded(BorrowedRef code, std::unique_ptr<Bytecode> decoded) {
  if (extra_index() < 0) return decoded;
  decoded->code = Ref::steal(code.get());
  auto kept = std::make_unique<Kept>(decoded.release(), ReleaseCode{});
  auto result = hand_out(code, *kept);
  check_status(kSetExtra(code.get(), extra_index(), kept.get()));
  static_cast<void>(kept.release());
  return result;
}

}  // namespace numlift
