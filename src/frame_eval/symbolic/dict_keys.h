// Keys of dicts and items of sets. Most are constants, which the trace compares for real. The keys
// of a dict made in the frame may also be instances with __hash__ and __eq__ written in Python:
// these are traced where CPython calls them, by the hashes that it compares first.
#pragma once

#include <optional>

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// Whether two keys are one. Runs no user code.
bool same_key(BorrowedRef a, BorrowedRef b);
// A key or set item: the real object it is.
Sym constant_key(Interpreter& interpreter, const Sym& key);
// Of a real dict. Throws Break for keys of user classes, whose __eq__ could run in a lookup.
void check_keys(PyObject* dict);
// An object that is a key by its identity. What a call was given is another one in the next call,
// and would be kept alive by the guard; classes, functions and what stands in global variables
// last. `place`: where the key, or the dict that has it, is read from.
bool is_lasting_key(BorrowedRef object, const guards::Source* place);

struct DictKey {
  Sym value;
  std::optional<Py_hash_t> hash{};  // what its __hash__ gives, where that is written in Python
};
DictKey dict_key(Interpreter& interpreter, const Sym& key);

// Null: it is not there.
std::pair<Sym, Sym>* find_entry(Interpreter& interpreter, DictValue& dict, const DictKey& key);
void set_entry(Interpreter& interpreter, DictValue& dict, const DictKey& key, const Sym& value);
bool remove_entry(Interpreter& interpreter, DictValue& dict, const DictKey& key);

}  // namespace numlift::frame_eval
