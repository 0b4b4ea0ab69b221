#include "fingerprint.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <llvm-c/Core.h>

#include <cstring>

#include "target.h"

namespace numlift::codegen::cpu {
namespace {

struct Search {
  uintptr_t address;
  std::string mark;
};

size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }

// The NT_GNU_BUILD_ID note of a loaded file; "" if it has none.
std::string mark_in(const dl_phdr_info& file) {
  std::string mark;
  for (int i = 0; i < file.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(file.dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof(note));
      const char* name = at + sizeof(note);
      const char* contents = name + padded(note.n_namesz);
      const char* next = contents + padded(note.n_descsz);
      if (next > end) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        for (size_t byte = 0; byte < note.n_descsz; ++byte)
          mark += fmt::format("{:02x}", static_cast<unsigned char>(contents[byte]));
        return mark;
      }
      at = next;
    }
  }
  return mark;
}

int look(dl_phdr_info* file, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = file->dlpi_phdr[i];
    const uintptr_t begin = file->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || search->address < begin ||
        search->address >= begin + part.p_memsz)
      continue;
    search->mark = mark_in(*file);
    return 1;
  }
  return 0;
}

// Of the file that holds `address`.
std::string build_mark(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(&look, &search);
  return search.mark;
}

std::string make_fingerprint() {
  const std::string ours = build_mark(reinterpret_cast<const void*>(&make_fingerprint));
  if (ours.empty()) return "";
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);  // of the library that is loaded
  const std::string llvms = build_mark(reinterpret_cast<const void*>(&LLVMGetVersion));
  const HostTarget& host = host_target();
  return fmt::format("numlift {}\nllvm {}.{}.{} {}\n{} {} {} {}", ours, major, minor, patch, llvms,
                     host.triple, host.cpu, host.features, host.vector_bytes);
}

}  // namespace

const std::string& code_fingerprint() {
  static const std::string fingerprint = make_fingerprint();
  return fingerprint;
}

}  // namespace numlift::codegen::cpu
