// What a symbolic value holds.
#pragma once

#include <functional>
#include <set>

#include "symbolic/value.h"

namespace numlift::frame_eval {

// Calls `visit` for each value that this one holds, not for those that they hold. False: it may
// hold others that cannot be told (a generator's frame).
bool visit_parts(const SymbolicValue& value, const std::function<void(const Sym&)>& visit);

// All that can be reached from the values added.
class Reached {
 public:
  void add(const Sym& value);
  bool contains(const Sym& value) const { return values_.contains(value.get()); }
  // Something was reached that may hold any value.
  bool holds_anything() const { return holds_anything_; }
  const std::set<const SymbolicValue*>& values() const { return values_; }

 private:
  std::set<const SymbolicValue*> values_;
  bool holds_anything_ = false;
};

}  // namespace numlift::frame_eval
