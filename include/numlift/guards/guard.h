// A guard: (source, predicate, reason). The same code answers "does it hold" and "why not".
#pragma once

#include "numlift/py/python.h"

#include <string>
#include <variant>
#include <vector>

#include "numlift/graph/graph.h"
#include "numlift/guards/source.h"

namespace numlift::guards {

// What of an array's layout the entry relies on.
struct ArrayClass {
  DType dtype = DType::kFloat64;
  int rank = 0;
  // Axes of size 1 (bit k: axis k): their size is a constant in the graph, all others are not 1.
  uint64_t size_one = 0;
  // kC, kF: the NumPy flag (kC when both). kStrided: neither.
  enum class Layout : uint8_t { kC, kF, kStrided } layout = Layout::kC;
  // kStrided: axes with size not 1 sorted by absolute stride, slowest first (ties: lower axis
  // first).
  AxisOrder stride_order;
  // kStrided: the last axis in stride_order steps by exactly the item size.
  bool unit_inner = false;
  bool writeable = true;  // must be so only when the program stores to it
  bool operator==(const ArrayClass&) const = default;
};

struct IsObject {
  Ref object;
};  // identity
struct HasType {
  Ref type;
};  // exact type
struct EqualsConstant {
  Ref value;
};  // exact type and equal: int, float (bits), str, bytes, bool, None, tuples of these
struct IsArray {
  ArrayClass array_class;
};  // exact ndarray, aligned, native byte order
struct IsOpaqueArray {};  // exact ndarray that classify_array refuses
struct IsInt64 {};        // exact int that fits in int64
struct HasLength {
  int64_t length;
};  // tuple, list, dict or set of this length, past what a subclass says
struct HasKeys {
  Ref keys;
};  // dict with just these keys (a tuple), in this order: identical or equal str
struct FunctionIs {
  Ref code, defaults, kwdefaults, globals;
  bool any_defaults = false;  // defaults of both kinds are guarded by what they hold
};  // __code__, __defaults__, __kwdefaults__, __globals__ (identity)
struct IsSame {
  SourcePtr other;
};  // the very object that `other` reads
struct AreDistinct {
  std::vector<SourcePtr> others;
};  // what these and the guard's own source read are objects of which no two are the same
struct Compares {
  int compare;  // 0 <, 1 <=, 2 ==, 3 !=, 4 >, 5 >=
  Ref constant;
  bool outcome;
};  // exact int or float; so it compares with an int or float
struct IsPresent {};  // whatever it is
struct IsAbsent {};   // the source can't be read (e.g. global shadows a builtin)

using Predicate =
    std::variant<IsObject, HasType, EqualsConstant, IsArray, IsOpaqueArray, IsInt64, HasLength,
                 HasKeys, FunctionIs, IsSame, AreDistinct, Compares, IsPresent, IsAbsent>;

struct Guard {
  SourcePtr source;
  Predicate predicate;
  std::string reason;  // what in the user's code needed it: "np.sin is called at user.py:3"
  std::string place;   // the user's line: "user.py:3"
};

// "array", "type", "constant", …
std::string predicate_kind(const Predicate& predicate);
// "dtype f64, rank 2, C contiguous"
std::string predicate_text(const Predicate& predicate);
// The class of an array that is there now; false when it is not an exact, aligned, native ndarray
// of one of our dtypes, or has overlapping elements (a zero stride along an axis longer than 1).
bool classify_array(BorrowedRef object, ArrayClass* out);

}  // namespace numlift::guards
