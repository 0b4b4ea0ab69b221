// From a raw nest to the final one: collapse, positions of extremes, vector and parallel loops,
// size of the work; then all is numbered in the order of the text and unused values are gone.
#include <algorithm>
#include <limits>

#include "numlift/support/check.h"
#include "schedule/collapse.h"
#include "schedule/raw_nest.h"

namespace numlift::codegen {
namespace {

// A loop of so few iterations (while tracing) fills no vector: the loop around it is better.
constexpr int64_t kShortLoop = 4;
constexpr int kDearCost = 20;

class Finisher {
 public:
  Finisher(const Plan& plan, RawNest* raw) : plan_(plan), raw_(*raw), nest_(raw->nest) {}

  LoopNest run() {
    add_positions();
    for (const Item& item : nest_.root) {
      if (item.kind != Item::Kind::kLoop) continue;
      loop(item).parallel = true;
      choose_vector(VarId{item.index});
    }
    mark_used();
    return Renumbered(*this).take();
  }

 private:
  Loop& loop(const Item& item) { return nest_.loops[item.index]; }
  Loop& loop(VarId var) { return nest_.loops[static_cast<size_t>(var)]; }

  // ---- positions, as values in the innermost loop ----

  void add_positions() {
    for (const RawNest::Position& position : raw_.positions) {
      Reduction& reduction = loop(position.loop).reductions[position.reduction];
      reduction.position = position_value(position.index, loop(reduction.loops.back()).body,
                                          nest_.values[static_cast<size_t>(reduction.result)]);
    }
  }

  ValueId position_value(const Affine& index, std::vector<Item>& body, const Value& like) {
    const uint32_t location = like.location;
    auto append = [&](Value value) {
      value.dtype = DType::kInt64;
      value.location = location;
      nest_.values.push_back(std::move(value));
      const ValueId id{static_cast<uint32_t>(nest_.values.size() - 1)};
      body.push_back({Item::Kind::kValue, static_cast<uint32_t>(id)});
      return id;
    };
    auto combine = [&](Op op, ValueId a, ValueId b) {
      Value value;
      value.op = op;
      value.operands = {a, b};
      return append(std::move(value));
    };
    auto size = [&](const SizeExpr& amount) {
      Value value;
      value.kind = Value::Kind::kSize;
      value.size = amount;
      return append(std::move(value));
    };
    ValueId sum = kNoValue;
    for (const auto& [var, step] : index.terms) {
      Value value;
      value.kind = Value::Kind::kIndex;
      value.var = VarId{var};
      ValueId term = append(std::move(value));
      if (!is_one(step)) term = combine(Op::kMultiply, term, size(step));
      sum = sum == kNoValue ? term : combine(Op::kAdd, sum, term);
    }
    if (sum == kNoValue || !is_zero(index.offset)) {
      const ValueId offset = size(index.offset);
      sum = sum == kNoValue ? offset : combine(Op::kAdd, sum, offset);
    }
    return sum;
  }

  // ---- vector loops ----

  bool has_loops(const Loop& at) const {
    return std::any_of(at.body.begin(), at.body.end(),
                       [](const Item& item) { return item.kind == Item::Kind::kLoop; });
  }

  // Accesses below `body` that do not walk along memory when `var` steps by one.
  int scattered_accesses(const std::vector<Item>& body, VarId var) const {
    int count = 0;
    for (const Item& item : body) {
      if (item.kind == Item::Kind::kLoop) {
        count += scattered_accesses(nest_.loops[item.index].body, var);
      } else if (item.kind == Item::Kind::kStore) {
        const Store& store = nest_.stores[item.index];
        count += is_scattered(store.access, nest_.values[static_cast<size_t>(store.value)], var);
      } else if (nest_.values[item.index].kind == Value::Kind::kLoad) {
        count += is_scattered(nest_.values[item.index].access, nest_.values[item.index], var);
      }
    }
    return count;
  }
  bool is_scattered(const Access& access, const Value& element, VarId var) const {
    for (const auto& [at, stride] : access.strides) {
      if (at == var) return plan_.hint(stride, 0) != item_size(element.dtype);
    }
    return false;
  }

  // One loop on each path: an innermost one, or the one around it where that walks along memory and
  // the innermost do not (columns of a C-ordered array are reduced with one lane a column).
  void choose_vector(VarId var) {
    // A scratch of one element serves one iteration at a time.
    const bool is_innermost = !has_loops(loop(var));
    if (is_innermost && (loop(var).in_order || raw_.holds_private[static_cast<size_t>(var)]))
      return;
    if (is_innermost || is_better_than_inner(var)) {
      loop(var).vector = true;
      return;
    }
    for (const Item& item : loop(var).body) {
      if (item.kind == Item::Kind::kLoop) choose_vector(VarId{item.index});
    }
  }

  bool is_better_than_inner(VarId var) {
    const Loop& at = loop(var);
    if (at.reduction || at.in_order || is_short(at) || raw_.holds_private[static_cast<size_t>(var)])
      return false;
    Innermost inner;
    if (!add_innermost(at, &inner)) return false;
    return inner.in_order || inner.longest <= kShortLoop ||
           scattered_accesses(at.body, var) < inner.scattered;
  }
  struct Innermost {
    int scattered = 0;  // accesses that do not walk along memory
    int64_t longest = 0;
    bool in_order = false;
  };
  // False: between here and there are loops that could be vectors themselves.
  bool add_innermost(const Loop& at, Innermost* found) {
    for (const Item& item : at.body) {
      if (item.kind != Item::Kind::kLoop) continue;
      const Loop& inner = nest_.loops[item.index];
      if (has_loops(inner)) {
        if (!inner.reduction || !add_innermost(inner, found)) return false;
        continue;
      }
      found->in_order = found->in_order || inner.in_order;
      found->scattered += scattered_accesses(inner.body, VarId{item.index});
      found->longest =
          std::max(found->longest, plan_.hint(inner.extent, std::numeric_limits<int64_t>::max()));
    }
    return true;
  }
  bool is_short(const Loop& at) const {
    return plan_.hint(at.extent, std::numeric_limits<int64_t>::max()) <= kShortLoop;
  }

  // ---- use ----

  void mark_used() {
    used_.assign(nest_.values.size(), false);
    for (const Store& store : nest_.stores) {
      if (store.value != kNoValue) use(store.value);  // else the store was dropped
    }
    for (size_t i = 0; i < nest_.values.size(); ++i) {
      if (nest_.values[i].fp_checks != 0) use(ValueId{static_cast<uint32_t>(i)});
    }
    for (const Loop& at : nest_.loops) {
      for (const Reduction& reduction : at.reductions) {
        use(reduction.operand);
        if (reduction.position != kNoValue) use(reduction.position);
      }
    }
    // Operands are defined before their users.
    for (size_t i = nest_.values.size(); i > 0; --i) {
      if (!used_[i - 1]) continue;
      for (ValueId operand : nest_.values[i - 1].operands) use(operand);
    }
  }
  void use(ValueId id) { used_[static_cast<size_t>(id)] = true; }

  // ---- numbering ----

  class Renumbered {
   public:
    explicit Renumbered(Finisher& from)
        : from_(from),
          values_(from.nest_.values.size(), kNoValue),
          loops_(from.nest_.loops.size()) {}

    LoopNest take() {
      result_.root = body(from_.nest_.root, 1, SizeExpr(1));
      // Of the paths that are longest while tracing: their evaluations, the sum of their costs.
      double most = -1;
      int cost = 0;
      for (const Path& path : paths_) {
        if (path.hint > most) {
          most = path.hint;
          result_.work = path.work;
          cost = 0;
        }
        if (path.hint == most) cost += path.cost;
      }
      result_.cost = std::max(cost, 1);
      return std::move(result_);
    }

   private:
    struct Path {
      SizeExpr work;
      double hint;
      int cost;
    };

    std::vector<Item> body(const std::vector<Item>& items, double hint, const SizeExpr& work) {
      std::vector<Item> result;
      int cost = 0;
      for (const Item& item : items) {
        switch (item.kind) {
          case Item::Kind::kLoop:
            result.push_back({item.kind, add_loop(item.index, hint, work)});
            break;
          case Item::Kind::kStore: {
            Store store = from_.nest_.stores[item.index];
            store.value = renamed(store.value);
            rename(&store.access);
            result.push_back({item.kind, static_cast<uint32_t>(result_.stores.size())});
            result_.stores.push_back(std::move(store));
            ++cost;
            break;
          }
          case Item::Kind::kValue:
            if (!from_.used_[item.index]) break;
            result.push_back({item.kind, add_value(item.index)});
            cost += cost_of(from_.nest_.values[item.index]);
            break;
        }
      }
      if (cost > 0) paths_.push_back({work, hint, cost});
      return result;
    }

    uint32_t add_loop(uint32_t index, double hint, const SizeExpr& work) {
      const uint32_t id = static_cast<uint32_t>(result_.loops.size());
      loops_[index] = VarId{id};
      result_.loops.emplace_back();
      const Loop& old = from_.nest_.loops[index];
      const double inner_hint =
          hint * static_cast<double>(std::max<int64_t>(from_.plan_.hint(old.extent), 1));
      Loop loop = old;
      loop.body = body(old.body, inner_hint, work * old.extent);
      loop.reductions.clear();
      for (Reduction reduction : old.reductions) {
        reduction.operand = renamed(reduction.operand);
        if (reduction.position != kNoValue) reduction.position = renamed(reduction.position);
        for (VarId& var : reduction.loops) var = loops_[static_cast<size_t>(var)];
        reduction.result = ValueId{add_value(static_cast<uint32_t>(reduction.result))};
        loop.reductions.push_back(std::move(reduction));
      }
      result_.loops[id] = std::move(loop);
      return id;
    }

    uint32_t add_value(uint32_t index) {
      Value value = from_.nest_.values[index];
      for (ValueId& operand : value.operands) operand = renamed(operand);
      rename(&value.access);
      if (value.kind == Value::Kind::kIndex) value.var = loops_[static_cast<size_t>(value.var)];
      const uint32_t id = static_cast<uint32_t>(result_.values.size());
      result_.values.push_back(std::move(value));
      values_[index] = ValueId{id};
      return id;
    }

    ValueId renamed(ValueId id) const {
      const ValueId result = values_[static_cast<size_t>(id)];
      NUMLIFT_CHECK(result != kNoValue, "value {} is used before its definition",
                    static_cast<uint32_t>(id));
      return result;
    }
    void rename(Access* access) const {
      for (auto& [var, stride] : access->strides) var = loops_[static_cast<size_t>(var)];
      std::sort(access->strides.begin(), access->strides.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    }

    static int cost_of(const Value& value) {
      if (value.kind == Value::Kind::kLoad) return 1;
      if (value.kind != Value::Kind::kOp) return 0;
      return op_info(value.op).cost == OpCost::kDear ? kDearCost : 1;
    }

    Finisher& from_;
    LoopNest result_;
    std::vector<ValueId> values_;
    std::vector<VarId> loops_;
    std::vector<Path> paths_;
  };

  const Plan& plan_;
  RawNest& raw_;
  LoopNest& nest_;
  std::vector<bool> used_;
};

}  // namespace

LoopNest finish_nest(const Plan& plan, RawNest raw) {
  collapse_loops(&raw);
  return Finisher(plan, &raw).run();
}

}  // namespace numlift::codegen
