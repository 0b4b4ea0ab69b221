// What a frame holds at one place, and how the states of several paths that meet there become one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "symbolic/frame.h"
#include "symbolic/tracer.h"

namespace numlift::frame_eval {

struct FrameState {
  std::vector<Sym> slots, stack;
};
FrameState state_of(const Frame& frame);
void set_state(Frame& frame, const FrameState& state);

// The end of one path to the meeting place.
struct PathEnd {
  NodeId before = kNoNode;  // what it leaves is stored before this node
  FrameState state;
  Sym returned;  // set: the path has returned this from the function
};

// A value that is kept in memory, or in a symbol, of which paths store to and from which is read.
enum class StateKind : uint8_t {
  kSame,    // the same value on all paths
  kInt,     // a Python int: a symbol
  kScalar,  // a number: a buffer of rank 0
  kArray,   // a buffer
};
struct StateType {
  StateKind kind = StateKind::kSame;
  Type type;            // kScalar, kArray
  bool either = false;  // kScalar: a NumPy scalar, or the Python number of the same value
  AxisOrder order;      // kArray: empty means C order
  // kArray, by axis: -1, or a number that axes have whose sizes change together. Empty: no size
  // changes.
  std::vector<int> changing;
  bool changes(size_t axis) const { return axis < changing.size() && changing[axis] >= 0; }
  bool operator==(const StateType&) const = default;
};
// nullopt: a value that no state holds.
std::optional<StateType> state_type(const Sym& value);
// What holds the values of both. nullopt: nothing does.
std::optional<StateType> join(const StateType& a, const StateType& b);

// Arrays of one kind, whatever their sizes.
bool is_alike(const StateType& a, const StateType& b);
// One size in all iterations and on all paths. Of sizes that are known before the program runs,
// those that are equal now are guarded to be.
bool is_one_size(Tracer& tracer, const SizeExpr& a, const SizeExpr& b);

// A constant Python or NumPy number. nullopt: it is none.
std::optional<Type> number_type(const Sym& value);
// The node of a number, constant or of the run, as `dtype`.
NodeId number_node(Tracer& tracer, const Sym& value, DType dtype);

// What symbols that the program sets never exceed, so that sums of sizes stay in 64 bits: the
// program checks it, or the memory would not suffice.
inline constexpr int64_t kMostSize = int64_t{1} << 40;
// A size that the program sets.
SizeExpr size_symbol(Tracer& tracer, int64_t hint);
// The same, which is set now, to this number.
SizeExpr kept_size(Tracer& tracer, NodeId number, int64_t hint);

// One state variable.
struct Carrier {
  StateType type;                    // sizes that change are symbols
  NodeId buffer = kNoNode;           // kScalar, kArray: its Empty node
  SizeExpr symbol;                   // kInt
  std::shared_ptr<Storage> storage;  // kArray
};
// Symbols of sizes that change, by the numbers of StateType::changing.
using SizeSymbols = std::map<int, SizeExpr>;
// Its memory is made before `before`; kNoNode: here. `seen`: a value that it may hold in this call,
// or null.
Carrier make_carrier(Tracer& tracer, const StateType& type, const Sym& seen, NodeId before,
                     SizeSymbols* sizes);
// The value that it holds now.
Sym read_carrier(Tracer& tracer, const Carrier& carrier);
// All at once, each the value beside it: before `before`, or here.
void store_carriers(Tracer& tracer, const std::vector<std::pair<const Carrier*, Sym>>& values,
                    NodeId before);

// Things that were there before the region began: nodes and symbols made later belong to it.
struct RegionStart {
  NodeId first{};  // its first node
  size_t symbols = 0;
  bool contains(const Tracer& tracer, const Sym& value) const;
};

// The state in which the paths meet; of `live` slots only. The values' memory is made before
// `start.first`. Throws Break where there is no such state.
struct Meeting {
  FrameState state;
  Sym returned;
};
Meeting merge_paths(Tracer& tracer, const std::vector<PathEnd>& paths, const RegionStart& start,
                    const std::vector<bool>& live);

// What the values can reach that the traced code may change, and how it is.
class HeapImage {
 public:
  explicit HeapImage(const Frame& innermost);
  // Throws Break when anything has changed since.
  void check_unchanged() const;

 private:
  std::vector<std::pair<Sym, std::vector<const void*>>> objects_;
};

}  // namespace numlift::frame_eval
