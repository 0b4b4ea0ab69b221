// Reader and writer of co_exceptiontable. A table that ends within an entry loses that entry.
#include "cpython/exception_table.h"

namespace numlift {
namespace {

constexpr uint8_t kEntryStart = 0x80;
constexpr uint8_t kMore = 0x40;

bool read_number(std::span<const uint8_t> table, size_t& at, uint32_t& value) {
  value = 0;
  while (at < table.size()) {
    const uint8_t byte = table[at++];
    value = value << 6 | (byte & 0x3FU);
    if ((byte & kMore) == 0) return true;
  }
  return false;
}

void write_number(std::string& out, uint32_t value, uint8_t mark) {
  int shift = 30;
  while (shift > 0 && value >> shift == 0) shift -= 6;
  for (; shift >= 0; shift -= 6) {
    const uint32_t more = shift > 0 ? kMore : 0U;
    out.push_back(static_cast<char>((value >> shift & 0x3FU) | more | mark));
    mark = 0;
  }
}

}  // namespace

std::vector<ExceptionRange> read_exception_table(std::span<const uint8_t> table) {
  std::vector<ExceptionRange> ranges;
  size_t at = 0;
  ExceptionRange range;
  uint32_t depth_and_lasti = 0;
  while (read_number(table, at, range.start) && read_number(table, at, range.length) &&
         read_number(table, at, range.target) && read_number(table, at, depth_and_lasti)) {
    range.depth = static_cast<int32_t>(depth_and_lasti >> 1);
    range.push_lasti = (depth_and_lasti & 1) != 0;
    ranges.push_back(range);
  }
  return ranges;
}

std::string write_exception_table(std::span<const ExceptionRange> ranges) {
  std::string out;
  for (const ExceptionRange& range : ranges) {
    write_number(out, range.start, kEntryStart);
    write_number(out, range.length, 0);
    write_number(out, range.target, 0);
    write_number(out, static_cast<uint32_t>(range.depth) << 1 | (range.push_lasti ? 1U : 0U), 0);
  }
  return out;
}

}  // namespace numlift
