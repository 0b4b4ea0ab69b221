// Where programs of a function begin: at its start, and behind each of its graph breaks.
#pragma once

#include "numlift/py/python.h"

#include <memory>
#include <string>
#include <vector>

#include "entry.h"
#include "numlift/frame_eval/resume_code.h"
#include "numlift/frame_eval/trace.h"

namespace numlift::frame_eval {

// Its arguments are the call's own, or the values of `frames`.
struct Site {
  std::string name;                             // "f", "numlift_resume_in_f_at_7"
  std::vector<SuspendedFrame> frames;           // outermost first; none: a call begins
  Ref rest;                                     // runs the rest of the call in CPython
  std::vector<std::unique_ptr<Entry>> entries;  // most recently used first
  bool plain = false;                           // given up on: CPython runs the rest of all calls

  size_t value_count() const;
};

// The sites behind graph breaks. A site stays as long as its function: calls may stand in it.
class ResumeSites {
 public:
  // `at`: the instruction at the break.
  Site* find_or_make(const std::vector<SuspendedFrame>& frames, const Instruction& at);
  const std::vector<std::unique_ptr<Site>>& all() const { return sites_; }
  // Only where no call can stand in one.
  std::vector<std::unique_ptr<Site>> take_all() { return std::exchange(sites_, {}); }

 private:
  std::vector<std::unique_ptr<Site>> sites_;
};

// What CPython does at a graph break, as functions. `from`: the frames where CPython begins, when
// it runs all up to the break, too; else the frames at the break. Throws PyError, InternalError.
// `needs_closure`: it begins where a function with free variables does.
std::unique_ptr<EntryExit> make_exit(const TraceExit& exit, const std::vector<SuspendedFrame>& from,
                                     bool needs_closure, ResumeSites* sites);
// Whether CPython can run from `from` to the break as well as a program could: the same frames are
// open, no array is computed on the way, and no handler can lead there by another way.
bool is_step(const TraceResult& trace, const std::vector<SuspendedFrame>& from);
// Work that is worth a program: on arrays, not on numbers alone.
bool has_array_work(const Graph& graph);
// The frame of a call that begins.
SuspendedFrame first_frame(BorrowedRef function);

}  // namespace numlift::frame_eval
