// Lists, tuples, dicts and sets: those made in the frame, and those from outside (read only,
// guarded by length and item).
#pragma once

#include "symbolic/calls.h"
#include "symbolic/dict_keys.h"
#include "symbolic/interpreter.h"
#include "symbolic/sets.h"

namespace numlift::frame_eval {

Sym make_tuple(std::vector<Sym> items);
Sym make_list(std::vector<Sym> items);

// The items of a tuple or list of either kind; nullopt for everything else.
std::optional<std::vector<Sym>> open_sequence(Interpreter& interpreter, const Sym& value);
// The items of what is_list() or is_tuple() holds for.
std::vector<Sym> sequence_items(Interpreter& interpreter, const Sym& value);
// The items of anything that can be iterated to its end now.
std::vector<Sym> collect_items(Interpreter& interpreter, const Sym& value);
// As that, for callers to whom the order does not matter (a set has none that is known).
std::vector<Sym> collect_unordered(Interpreter& interpreter, const Sym& value);

bool is_list(const Sym& value);  // exact list of either kind
bool is_tuple(const Sym& value);
// Of exactly this type: what would be a copy is the tuple itself.
bool is_plain_tuple(const Sym& value);
bool is_dict(const Sym& value);
// These, or instances of classes that are derived from them: the functions below that read and
// change a list or dict do so past what such a class overrides.
bool is_list_based(const Sym& value);
bool is_dict_based(const Sym& value);
// dict(dict), past what its class overrides.
Sym copy_of_dict(Interpreter& interpreter, const Sym& dict);

// Where the parts of an outside container are read from.
guards::SourcePtr container_source(const Sym& container);
// That it has this length, and its type.
void guard_length(Interpreter& interpreter, const Sym& container, int64_t length);
// Throws Break where there are too many items to follow each; `what`: a list, dict, …
void check_size(Py_ssize_t size, int64_t limit, const char* what);

// Before `value` becomes an item of `container`, which was made in the frame: containers in each
// other are trees. Throws Break for one that would hold itself.
void check_acyclic(const Sym& container, const Sym& value);

Sym sequence_item(Interpreter& interpreter, const Sym& sequence, const Sym& key);

// A list or dict from outside is about to be changed: the value, made in the frame, that holds all
// of it from now on. What is made in the frame is returned as it is.
const Sym& open_for_change(Interpreter& interpreter, const Sym& container);
// The changes of a list or dict of either kind; of one from outside they are recorded, too.
void list_append(Interpreter& interpreter, const Sym& list, const Sym& item);
void list_extend(Interpreter& interpreter, const Sym& list, const Sym& more);
void list_set(Interpreter& interpreter, const Sym& list, const Sym& key, const Sym& value);
void list_remove(Interpreter& interpreter, const Sym& list, int64_t index);
// del list[key]
void delete_item_of_list(Interpreter& interpreter, const Sym& list, const Sym& key);
// All of the list's items are replaced.
void list_assign(Interpreter& interpreter, const Sym& list, std::vector<Sym> items);

std::vector<std::pair<Sym, Sym>> dict_items(Interpreter& interpreter, const Sym& dict);
Sym find_in_dict(Interpreter& interpreter, const Sym& dict, const Sym& key);  // null: absent
int64_t dict_length(Interpreter& interpreter, const Sym& dict);
void dict_set(Interpreter& interpreter, const Sym& dict, const Sym& key, const Sym& value);
// False: the key is not there. `how`: the method that does it to a dict from outside.
bool dict_remove(Interpreter& interpreter, const Sym& dict, const Sym& key,
                 const char* how = "__delitem__");
void dict_clear(Interpreter& interpreter, const Sym& dict);
// Grows with each item that the traced code takes out of the dict.
uint64_t dict_removals(const Sym& dict);

// (key, value) pairs of a dict or of an iterable of pairs, as dict() and dict.update() take them.
std::vector<std::pair<Sym, Sym>> collect_pairs(Interpreter& interpreter, const Sym& value);

// A method of a list, tuple, dict or set by name (of those made inside also the changing ones).
Sym container_method(Interpreter& interpreter, const Sym& self, const std::string& name,
                     const CallArguments& arguments);
bool has_container_method(const Sym& self, const std::string& name);

// dict.keys(), .values(), .items(): shows the dict as it is when it is looked at.
struct DictView : IteratorValue {
  enum class Part : uint8_t { kKeys, kValues, kItems };
  DictView(Sym dict, Part part) : dict(std::move(dict)), part(part) {}
  Sym next(Tracer& tracer) override;
  std::vector<Sym> items(Interpreter& interpreter) const;
  std::optional<CallShape> shape() const override;
  static Sym part_of(const Sym& key, const Sym& value, Part part);
  Sym dict;
  Part part;
};

}  // namespace numlift::frame_eval
