#include "call_record.h"

#include "entry.h"
#include "site.h"

namespace numlift::frame_eval {

thread_local CallRecord* CallRecord::current_ = nullptr;

CallRecord::CallRecord() : outer_(current_) {
  ++count_;
  current_ = this;
}

CallRecord::~CallRecord() {
  --count_;
  current_ = outer_;
}

void CallRecord::enter(const Site& site, const Entry& entry) {
  if (!seen_.insert(&entry).second) return;
  EntryInfo info = entry.info();
  info.site = site.name;
  events_.emplace_back(std::move(info));
}

void CallRecord::leave(const void* exit, const BreakInfo& info) {
  if (seen_.insert(exit).second) events_.emplace_back(info);
}

}  // namespace numlift::frame_eval
