// What the calls of compiled functions on one thread do, in order: for nl.explain. As long as
// nobody records, a call looks at one counter.
#pragma once

#include <optional>
#include <unordered_set>
#include <variant>
#include <vector>

#include "numlift/frame_eval/compiled_function.h"
#include "numlift/frame_eval/trace.h"

namespace numlift::frame_eval {

class Entry;
struct Site;

// Used with the GIL held.
class CallRecord {
 public:
  // Records what this thread does as long as it lives; an outer record sees nothing of it.
  CallRecord();
  ~CallRecord();
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // Null: nobody records.
  static CallRecord* active() { return count_ == 0 ? nullptr : current_; }

  // Each is noted the first time.
  void enter(const Site& site, const Entry& entry);
  void leave(const void* exit, const BreakInfo& info);
  std::vector<CallEvent> take() { return std::move(events_); }

 private:
  static inline int count_ = 0;
  static thread_local CallRecord* current_;
  CallRecord* outer_;
  std::unordered_set<const void*> seen_;
  std::vector<CallEvent> events_;
};

}  // namespace numlift::frame_eval
