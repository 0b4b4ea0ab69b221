// list.sort and sorted(), and functools.cmp_to_key.
#pragma once

#include "symbolic/interpreter.h"

namespace numlift::frame_eval {

// The items in order. Keywords: key, reverse.
std::vector<Sym> sort_items(Interpreter& interpreter, const std::vector<Sym>& items,
                            const std::vector<std::pair<Ref, Sym>>& keywords);

// functools.cmp_to_key(function), and what calling it with an object gives.
struct CompareKeyMaker : IteratorValue {
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a key function"); }
  std::optional<CallShape> shape() const override;
  Sym function;
};
struct CompareKey : IteratorValue {
  Sym next(Tracer&) override { throw_break("would_raise", "next() of a sort key"); }
  Sym function, object;
};
Sym make_compare_key_maker(Interpreter& interpreter, const CallArguments& arguments);
Sym make_compare_key(const CompareKeyMaker& maker, const CallArguments& arguments);
// Null: they are no such keys.
Sym compare_keys(Interpreter& interpreter, int compare, const Sym& a, const Sym& b);

}  // namespace numlift::frame_eval
