// co_linetable: the source position of each code unit. For this folder only.
//
// A run of up to 8 units has one entry: 0x80 | kind << 3 | (units - 1), then numbers of six bits a
// byte, least significant first, a sign in bit 0. Kinds: 0 to 9 same line and a short column,
// 10 to 12 up to two lines on and columns of a byte each, 13 a line only, 14 everything, 15
// nothing.
#pragma once

#include "numlift/frame_eval/bytecode.h"

#include <cstdint>
#include <span>
#include <string>

namespace numlift {

bool same_position(const Position& a, const Position& b);

// Walks the table forward.
class LineTableReader {
 public:
  LineTableReader(std::span<const uint8_t> table, int first_line)
      : table_(table), line_(first_line) {}
  // Of the entry that covers `unit`, which must not be smaller than in the call before. Units
  // behind the table's end have no position.
  const Position& at(uint32_t unit);

 private:
  void next_entry();
  uint8_t next_byte() { return at_ < table_.size() ? table_[at_++] : 0; }
  int next_number();
  int next_signed();

  std::span<const uint8_t> table_;
  size_t at_ = 0;
  int line_;
  uint32_t end_unit_ = 0;
  Position position_;
};

// Appends in order. Writes the same bytes as CPython's own compiler for the same calls.
class LineTableWriter {
 public:
  explicit LineTableWriter(int first_line) : line_(first_line) {}
  void add(const Position& position, uint32_t units);
  std::string finish();

 private:
  void flush();
  void write_entry(const Position& position, uint32_t units);
  void write_header(int kind, uint32_t units);
  void write_number(uint32_t value);
  void write_signed(int value);

  std::string out_;
  int line_;
  Position pending_;
  uint32_t pending_units_ = 0;
};

}  // namespace numlift
