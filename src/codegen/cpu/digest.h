// SHA-256, as LLVM has it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace numlift::codegen::cpu {

using Digest = std::array<uint8_t, 32>;

// Of the parts, each with its length before it: ("ab", "c") and ("a", "bc") differ.
Digest digest_of(std::initializer_list<std::string_view> parts);
// 64 small hexadecimal digits.
std::string hex_text(const Digest& digest);

}  // namespace numlift::codegen::cpu
