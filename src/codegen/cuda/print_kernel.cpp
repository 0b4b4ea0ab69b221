// Which kernels a nest becomes.
//
// There is no barrier over a grid, so each loop at the root of a nest is a kernel of its own, and a
// reduction at the root is two: blocks leave their parts, one block combines them. Scalars at the
// root are computed anew where they are used; results of reductions are handed on in scratch
// memory. What does not part so, or is not worth several launches, is run by one block.
#include <fmt/format.h>

#include <algorithm>

#include "code_text.h"
#include "kernel.h"
#include "kernel_writer.h"
#include "numlift/support/check.h"

namespace numlift::codegen::cuda {
namespace {

using Mode = KernelWriter::Mode;

constexpr int64_t kResultBytes = 16;
constexpr const char* kThreadIndex = "(i64)blockIdx.x * NL_BLOCK + threadIdx.x";
constexpr const char* kThreadCount = "(i64)gridDim.x * NL_BLOCK";

class NestPrinter {
 public:
  NestPrinter(const Program& program, const LoopNest& nest, const std::string& name)
      : program_(program), nest_(nest), name_(name), slots_(nest.values.size(), -1) {}

  NestKernels run() {
    note_memory(nest_, nest_.root, &result_.read, &result_.written);
    for (const Value& value : nest_.values)
      if (value.location != 0) result_.location = value.location;
    if (is_for_one_block())
      print_one_block();
    else
      print_phases();
    const auto reductions = static_cast<int64_t>(reduction_count_);
    result_.scratch_bytes = reductions * (kResultBytes + kMostPartials * kPartialBytes);
    return std::move(result_);
  }

 private:
  const Loop& loop(const Item& item) const { return nest_.loops[item.index]; }

  size_t root_loops() const {
    return static_cast<size_t>(
        std::count_if(nest_.root.begin(), nest_.root.end(),
                      [](const Item& item) { return item.kind == Item::Kind::kLoop; }));
  }

  bool is_for_one_block() const {
    if (root_loops() == 0) return false;
    // A scalar that is read from memory at the root cannot be read again once that is stored to.
    for (size_t i = 0; i < nest_.root.size(); ++i) {
      const Item& item = nest_.root[i];
      if (item.kind != Item::Kind::kValue || nest_.values[item.index].kind != Value::Kind::kLoad)
        continue;
      std::vector<BufferId> read, written;
      note_memory(nest_, {nest_.root.begin() + static_cast<std::ptrdiff_t>(i), nest_.root.end()},
                  &read, &written);
      if (std::find(written.begin(), written.end(), nest_.values[item.index].access.buffer) !=
          written.end())
        return true;
    }
    const bool is_parallel = std::any_of(
        nest_.root.begin(), nest_.root.end(),
        [&](const Item& item) { return item.kind == Item::Kind::kLoop && loop(item).parallel; });
    if (is_parallel) return false;
    const bool is_one_kernel =
        root_loops() == 1 && nest_.root.back().kind == Item::Kind::kLoop &&
        loop(nest_.root.back()).reductions.empty() &&
        std::all_of(nest_.root.begin(), nest_.root.end() - 1,
                    [](const Item& i) { return i.kind == Item::Kind::kValue; });
    return !is_one_kernel;
  }

  KernelWriter writer(const char* private_index) const {
    return KernelWriter(program_, nest_, private_index);
  }

  void add(Kernel kernel) { result_.kernels.push_back(std::move(kernel)); }
  std::string next_name() const { return fmt::format("{}_{}", name_, result_.kernels.size()); }

  void print_one_block() {
    KernelWriter w = writer("0");
    w.items(nest_.root, Mode::kTogether);
    add(w.finish(next_name(), Kernel::Shape::kOneBlock, 1, false));
  }

  // The values at the root that `items` need, in order; results of reductions from scratch.
  void print_prologue(KernelWriter* w, size_t end, const std::vector<Item>& items) {
    std::vector<bool> needed(nest_.values.size(), false);
    note_uses(items, &needed);
    for (size_t i = end; i-- > 0;) {
      const Item& item = nest_.root[i];
      if (item.kind == Item::Kind::kValue && needed[item.index])
        for (ValueId operand : nest_.values[item.index].operands)
          needed[static_cast<uint32_t>(operand)] = true;
    }
    for (size_t i = 0; i < end; ++i) {
      const Item& item = nest_.root[i];
      if (item.kind == Item::Kind::kValue && needed[item.index]) w->value(ValueId{item.index});
      if (item.kind != Item::Kind::kLoop) continue;
      for (const Reduction& reduction : loop(item).reductions) {
        const auto id = static_cast<uint32_t>(reduction.result);
        if (!needed[id]) continue;
        const std::string scratch =
            w->parameter({KernelParameter::Kind::kScratch, 0, DType::kInt64});
        const std::string_view type = type_name(nest_.values[id].dtype);
        w->line(fmt::format("const {0} v{1} = load<{0}>({2} + {3});", type, id, scratch,
                            result_offset(id)));
      }
    }
  }

  void note_uses(const std::vector<Item>& items, std::vector<bool>* needed) const {
    const auto use = [&](ValueId id) {
      if (id != kNoValue) (*needed)[static_cast<uint32_t>(id)] = true;
    };
    for (const Item& item : items) {
      switch (item.kind) {
        case Item::Kind::kValue:
          for (ValueId operand : nest_.values[item.index].operands) use(operand);
          break;
        case Item::Kind::kStore:
          use(nest_.stores[item.index].value);
          break;
        case Item::Kind::kLoop:
          note_uses(loop(item).body, needed);
          for (const Reduction& reduction : loop(item).reductions) {
            use(reduction.operand);
            use(reduction.position);
          }
          break;
      }
    }
  }

  // Where the nest's reductions have their slots in the scratch memory, in order of their results.
  int64_t result_offset(uint32_t value) {
    if (slots_[value] < 0) slots_[value] = static_cast<int>(reduction_count_++);
    return slots_[value] * (kResultBytes + kMostPartials * kPartialBytes);
  }
  int64_t partials_offset(uint32_t value) { return result_offset(value) + kResultBytes; }

  void print_phases() {
    for (size_t i = 0; i < nest_.root.size();) {
      const Item& item = nest_.root[i];
      if (item.kind == Item::Kind::kLoop) {
        if (loop(item).reductions.empty()) {
          print_iterations(i);
          ++i;
        } else {
          i = print_reduction(i);
        }
        continue;
      }
      size_t end = i;
      bool stores = false;
      for (; end < nest_.root.size() && nest_.root[end].kind != Item::Kind::kLoop; ++end)
        stores = stores || nest_.root[end].kind == Item::Kind::kStore;
      if (stores) {
        KernelWriter w = writer("0");
        const std::vector<Item> items = items_between(i, end);
        print_prologue(&w, i, items);
        w.items(items, Mode::kAlone);
        add(w.finish(next_name(), Kernel::Shape::kOneThread, 1, false));
      }
      i = end;
    }
  }

  std::vector<Item> items_between(size_t begin, size_t end) const {
    return {nest_.root.begin() + static_cast<std::ptrdiff_t>(begin),
            nest_.root.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  // Whether the loops inside have neighbouring elements in neighbouring iterations.
  bool has_vector_loop(const std::vector<Item>& items) const {
    return std::any_of(items.begin(), items.end(), [&](const Item& item) {
      return item.kind == Item::Kind::kLoop &&
             (loop(item).vector || has_vector_loop(loop(item).body));
    });
  }

  void print_iterations(size_t at) {
    KernelWriter probe = writer("0");
    const KernelWriter::Chain chain = probe.chain_of(VarId{nest_.root[at].index});
    const bool by_blocks = has_vector_loop(chain.body);
    KernelWriter w = writer(by_blocks ? "blockIdx.x" : kThreadIndex);
    print_prologue(&w, at, items_between(at, at + 1));
    if (by_blocks)
      w.chain_loop(chain, "blockIdx.x", "gridDim.x", Mode::kTogether);
    else
      w.chain_loop(chain, kThreadIndex, kThreadCount, Mode::kAlone);
    add(w.finish(next_name(), by_blocks ? Kernel::Shape::kBlocks : Kernel::Shape::kThreads,
                 chain.iterations, false));
  }

  // Returns where the items go on.
  size_t print_reduction(size_t at) {
    const VarId var{nest_.root[at].index};
    const Loop& outermost = loop(nest_.root[at]);
    {
      KernelWriter w = writer(kThreadIndex);
      print_prologue(&w, at, items_between(at, at + 1));
      const KernelWriter::Chain chain = w.chain_of(var);
      w.begin_reductions(outermost);
      w.chain_loop(chain, kThreadIndex, kThreadCount, Mode::kAlone);
      const std::string scratch = w.parameter({KernelParameter::Kind::kScratch, 0, DType::kInt64});
      for (const Reduction& reduction : outermost.reductions) {
        const std::string name = KernelWriter::accumulator(reduction);
        w.line(name + ".finish();");
        w.reduction_over_block(reduction);
        w.line(fmt::format("{}.save({} + {});", name, scratch,
                           partials_offset(static_cast<uint32_t>(reduction.result))));
      }
      add(w.finish(next_name(), Kernel::Shape::kPartials, chain.iterations, false));
    }
    // The block that combines also does what follows, up to the next loop.
    size_t end = at + 1;
    while (end < nest_.root.size() && nest_.root[end].kind != Item::Kind::kLoop) ++end;
    KernelWriter w = writer("0");
    const std::vector<Item> rest = items_between(at + 1, end);
    print_prologue(&w, at, rest);
    const std::string scratch = w.parameter({KernelParameter::Kind::kScratch, 0, DType::kInt64});
    const std::string partials = w.parameter({KernelParameter::Kind::kPartials, 0, DType::kInt64});
    w.begin_reductions(outermost, /*of_partials=*/true);
    for (const Reduction& reduction : outermost.reductions) {
      const auto id = static_cast<uint32_t>(reduction.result);
      w.line(fmt::format("{}.merge_saved({} + {}, {});", KernelWriter::accumulator(reduction),
                         scratch, partials_offset(id), partials));
      w.reduction_over_block(reduction);
      w.reduction_result(reduction);
      w.line(fmt::format("if (threadIdx.x == 0) store({} + {}, v{});", scratch, result_offset(id),
                         id));
    }
    w.items(rest, Mode::kTogether);
    add(w.finish(next_name(), Kernel::Shape::kOneBlock, 1, false));
    return end;
  }

  const Program& program_;
  const LoopNest& nest_;
  std::string name_;
  NestKernels result_;
  std::vector<int> slots_;  // by ValueId; -1: none yet
  size_t reduction_count_ = 0;
};

}  // namespace

NestKernels print_kernels(const Program& program, const LoopNest& nest, const std::string& name) {
  return NestPrinter(program, nest, name).run();
}

}  // namespace numlift::codegen::cuda
