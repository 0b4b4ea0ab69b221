// Reader and writer of co_linetable.
#include "numlift/py/python.h"

#include "cpython/line_table.h"

#include <algorithm>

#include "cpython/opcode_table.h"

namespace numlift {
namespace {

constexpr int kOneLine = 10;
constexpr int kNoColumns = 13;
constexpr int kLong = 14;
constexpr int kNone = 15;
constexpr uint32_t kMaxUnits = 8;

}  // namespace

bool same_position(const Position& a, const Position& b) {
  return a.line == b.line && a.end_line == b.end_line && a.column == b.column &&
         a.end_column == b.end_column;
}

int LineTableReader::next_number() {
  uint32_t value = 0;
  int shift = 0;
  uint8_t byte = 0;
  do {
    byte = next_byte();
    if (shift < 32) value |= static_cast<uint32_t>(byte & 0x3F) << shift;
    shift += 6;
  } while ((byte & 0x40) != 0);
  return static_cast<int>(value);
}

int LineTableReader::next_signed() {
  const auto value = static_cast<uint32_t>(next_number());
  const int magnitude = static_cast<int>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

void LineTableReader::next_entry() {
  const uint8_t header = next_byte();
  const int kind = header >> 3 & 15;
  end_unit_ += (header & 7U) + 1;
  position_ = {};
  if (kind == kNone) return;
  if (kind == kLong) {
    line_ += next_signed();
    position_.end_line = line_ + next_number();
    position_.column = next_number() - 1;
    position_.end_column = next_number() - 1;
  } else if (kind == kNoColumns) {
    line_ += next_signed();
    position_.end_line = line_;
  } else if (kind >= kOneLine) {
    line_ += kind - kOneLine;
    position_.end_line = line_;
    position_.column = next_byte();
    position_.end_column = next_byte();
  } else {
    const uint8_t byte = next_byte();
    position_.end_line = line_;
    position_.column = kind << 3 | byte >> 4;
    position_.end_column = position_.column + (byte & 15);
  }
  position_.line = line_;
}

const Position& LineTableReader::at(uint32_t unit) {
  while (unit >= end_unit_ && at_ < table_.size()) next_entry();
  if (unit >= end_unit_) position_ = {};
  return position_;
}

void LineTableWriter::write_header(int kind, uint32_t units) {
  out_.push_back(static_cast<char>(0x80 | kind << 3 | static_cast<int>(units - 1)));
}

void LineTableWriter::write_number(uint32_t value) {
  for (; value >= 0x40; value >>= 6) out_.push_back(static_cast<char>(0x40 | (value & 0x3F)));
  out_.push_back(static_cast<char>(value));
}

void LineTableWriter::write_signed(int value) {
  write_number(value < 0 ? static_cast<uint32_t>(-value) << 1 | 1U
                         : static_cast<uint32_t>(value) << 1);
}

void LineTableWriter::write_entry(const Position& p, uint32_t units) {
  if (p.line < 0) {
    write_header(kNone, units);
    return;
  }
  const int delta = p.line - line_;
  line_ = p.line;
  const bool has_columns = p.column >= 0 && p.end_column >= 0;
  const bool one_line = p.end_line == p.line;
  if (!has_columns && (one_line || p.end_line < 0)) {
    write_header(kNoColumns, units);
    write_signed(delta);
  } else if (has_columns && one_line && delta == 0 && p.column < 80 && p.end_column >= p.column &&
             p.end_column - p.column < 16) {
    write_header(p.column >> 3, units);
    out_.push_back(static_cast<char>((p.column & 7) << 4 | (p.end_column - p.column)));
  } else if (has_columns && one_line && delta >= 0 && delta < 3 && p.column < 128 &&
             p.end_column < 128) {
    write_header(kOneLine + delta, units);
    out_.push_back(static_cast<char>(p.column));
    out_.push_back(static_cast<char>(p.end_column));
  } else {
    write_header(kLong, units);
    write_signed(delta);
    write_number(static_cast<uint32_t>(std::max(p.end_line - p.line, 0)));
    write_number(static_cast<uint32_t>(p.column + 1));
    write_number(static_cast<uint32_t>(p.end_column + 1));
  }
}

void LineTableWriter::flush() {
  for (; pending_units_ > 0; pending_units_ -= std::min(pending_units_, kMaxUnits)) {
    write_entry(pending_, std::min(pending_units_, kMaxUnits));
  }
}

void LineTableWriter::add(const Position& position, uint32_t units) {
  if (!kMergesPositions || !same_position(position, pending_)) {
    flush();
    pending_ = position;
  }
  pending_units_ += units;
}

std::string LineTableWriter::finish() {
  flush();
  return std::move(out_);
}

}  // namespace numlift
