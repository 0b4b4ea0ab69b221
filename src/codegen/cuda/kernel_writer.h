// Writes the body of one kernel, statement by statement, and notes which parameters it needs.
//
// Code is either one thread's own (`kAlone`), or of all threads of a block together (`kTogether`):
// then values are computed by each of them, loops are shared out, one thread stores, and barriers
// stand around what stores.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernel.h"

namespace numlift::codegen::cuda {

// The buffers that these items load from and store to, loops included; each once.
void note_memory(const LoopNest& nest, const std::vector<Item>& items, std::vector<BufferId>* read,
                 std::vector<BufferId>* written);

class KernelWriter {
 public:
  enum class Mode : uint8_t { kAlone, kTogether };

  // private_index: which scratch a thread's private buffers are.
  KernelWriter(const Program& program, const LoopNest& nest, std::string private_index)
      : program_(program), nest_(nest), private_index_(std::move(private_index)) {}

  void items(const std::vector<Item>& items, Mode mode);
  void value(ValueId id);

  // Loops that are one within the other with only values between: one index runs over them all.
  struct Chain {
    std::vector<VarId> loops;  // outermost first
    std::vector<Item> body;    // of all of them
    SizeExpr iterations;
  };
  Chain chain_of(VarId outermost) const;
  // for (at = first; at < iterations; at += step) { body } without what the loops' reductions need.
  void chain_loop(const Chain& chain, const std::string& first, const std::string& step, Mode mode);

  // Reductions carried by a loop: before it, and the value behind it. of_partials: what is added
  // are few sums.
  void begin_reductions(const Loop& loop, bool of_partials = false);
  void reduction_over_block(const Reduction& reduction);
  void reduction_result(const Reduction& reduction);
  static std::string accumulator(const Reduction& reduction);

  void line(const std::string& text);
  void open(const std::string& text);
  void close();
  void barrier();
  std::string parameter(KernelParameter parameter);
  std::string size(const SizeExpr& size);

  // The whole function, with its parameter struct.
  Kernel finish(std::string name, Kernel::Shape shape, SizeExpr iterations, bool reports);

 private:
  std::string name(ValueId id) const;
  std::string address(const Access& access);
  std::string buffer(BufferId id);
  void op(ValueId id);
  void store(const Store& store);
  void loop(VarId var, Mode mode);
  void note_location(uint32_t location);
  std::string operation_of(const Reduction& reduction) const;
  bool has_stores(const std::vector<Item>& items) const;
  bool stores_to_read(const std::vector<Item>& values, const std::vector<Item>& body) const;

  const Program& program_;
  const LoopNest& nest_;
  std::string private_index_;
  std::vector<KernelParameter> parameters_;
  std::string text_;
  size_t depth_ = 1;
  uint32_t location_ = 0;
  bool has_barriers_ = false;
  bool reports_ = false;
};

}  // namespace numlift::codegen::cuda
