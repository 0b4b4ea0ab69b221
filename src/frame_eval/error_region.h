// numlift.error_on_graph_break(): whether a graph break raises, by thread. A call looks at one
// counter as long as no thread is in such a region.
#pragma once

#include <optional>
#include <utility>

namespace numlift::frame_eval {

// Used with the GIL held.
class ErrorRegion {
 public:
  // nullopt: this thread is in no region.
  static std::optional<bool> wanted() { return threads_ == 0 ? std::nullopt : wanted_; }
  static std::optional<bool> exchange(std::optional<bool> wanted) {
    threads_ += static_cast<int>(wanted.has_value()) - static_cast<int>(wanted_.has_value());
    return std::exchange(wanted_, wanted);
  }

 private:
  static inline int threads_ = 0;
  static inline thread_local std::optional<bool> wanted_;
};

}  // namespace numlift::frame_eval
