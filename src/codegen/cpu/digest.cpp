#include "digest.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <cstring>

namespace numlift::codegen::cpu {

Digest digest_of(std::initializer_list<std::string_view> parts) {
  llvm::SHA256 hash;
  for (std::string_view part : parts) {
    const uint64_t length = part.size();
    std::array<uint8_t, sizeof(length)> bytes;
    std::memcpy(bytes.data(), &length, sizeof(length));
    hash.update(llvm::ArrayRef<uint8_t>(bytes));
    hash.update(llvm::StringRef(part.data(), part.size()));
  }
  return hash.final();
}

std::string hex_text(const Digest& digest) {
  return llvm::toHex(llvm::ArrayRef<uint8_t>(digest), /*LowerCase=*/true);
}

}  // namespace numlift::codegen::cpu
