// Where a traced value comes from. Written once, used three times: the guard reads the value by it,
// the program's inputs are gathered by it, messages print it.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "numlift/py/ref.h"
#include "numlift/support/check.h"

namespace numlift::guards {

class Source;
using SourcePtr = std::shared_ptr<const Source>;

// What a source is evaluated against: the arguments after binding (co_varnames order; *args as a
// tuple, **kwargs as a dict) and the function that was called (its closure).
struct CallInputs {
  PyObject* const* arguments = nullptr;
  PyObject* function = nullptr;
};

class Source {
 public:
  enum class Kind : uint8_t {
    kArgument,  // arguments[index]
    kGlobal,    // key `name` of the dict `object` (some function's globals, or builtins when absent
                // there)
    kClosure,  // content of cell `index` of parent's __closure__; no parent: of the called function
    kCell,     // that cell itself
    kCellContent,  // content of the cell that parent reads
    kPart,         // what a method, a function, an instance or a deque is made of: Part `index`
    kAttribute,    // parent.name, only where reading it runs no user code: a module's dict; an
                   // instance's slot or dict, else its type's attribute as the class holds it (not
                   // bound); a type's likewise; what an exact function is made of
    kTypeAttribute,  // what the type that parent reads holds under `name`: as special methods are
                     // found, past the metaclass
    kItem,           // parent[index] of a tuple, list or deque, past what a subclass says
    kDictItem,       // parent[object] of a dict, likewise; `object` where a set has it
    kConstant,       // `object` itself: always there, never guarded
    kHandledException,  // what this thread's innermost running `except` block handles
  };
  // kInstanceDict: of an instance, null where CPython has not made one.
  enum class Part : uint8_t {
    kMethodSelf,
    kMethodFunction,  // of a bound method, a staticmethod, a classmethod
    kDefaults,
    kKeywordDefaults,
    kInstanceDict,
    kDequeLimit  // maxlen of an exact deque; alive until it is read again
  };
  Kind kind = Kind::kConstant;
  SourcePtr parent;
  int64_t index = 0;
  Ref name;
  Ref object;

  static SourcePtr argument(int64_t index, Ref name);
  static SourcePtr global(BorrowedRef globals, BorrowedRef name);
  static SourcePtr closure(SourcePtr function, int64_t index, Ref name);
  static SourcePtr cell(SourcePtr function, int64_t index, Ref name);
  static SourcePtr cell_content(SourcePtr cell);
  static SourcePtr part(SourcePtr parent, Part part);
  static SourcePtr attribute(SourcePtr parent, BorrowedRef name);
  static SourcePtr type_attribute(SourcePtr type, BorrowedRef name);
  static SourcePtr item(SourcePtr parent, int64_t index);
  static SourcePtr dict_item(SourcePtr parent, BorrowedRef key);
  static SourcePtr constant(BorrowedRef object);
  static SourcePtr handled_exception();

  // Borrowed: alive as long as the object it was read from is not changed. Null when it is not
  // there any more; sets no error, runs no user code.
  BorrowedRef read(const CallInputs& inputs) const;
  // One step of it: `owner` is what the parent reads (null without a parent).
  BorrowedRef read_from(BorrowedRef owner, const CallInputs& inputs) const;
  // "x", "np.sin", "self.weights[0]", "closure dt"
  std::string text() const;
};

// Attributes of its instances are found as object.__getattribute__ finds them, first or alone.
bool finds_generically(PyTypeObject* type);
// The same for attributes of the classes that `metatype` makes, and type.__getattribute__.
bool class_finds_generically(PyTypeObject* metatype);
// What the slot (`__slots__`) that `descriptor` stands for holds in `owner`, null when it is unset;
// nullopt when `descriptor` (may be null) is no such slot of it.
std::optional<BorrowedRef> slot_of_instance(PyObject* descriptor, BorrowedRef owner);

}  // namespace numlift::guards
