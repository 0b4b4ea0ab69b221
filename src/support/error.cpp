// The throwing half of NUMLIFT_CHECK.
#include <string_view>

#include "numlift/support/check.h"

namespace numlift {

void fail_check(const char* file, int line, const char* condition, const std::string& detail) {
  // From src/ or include/ on: the folder of the build must not show in golden text.
  std::string_view path = file;
  for (std::string_view root : {"/src/", "/include/", "/tests/", "/python/"}) {
    const size_t at = path.rfind(root);
    if (at != std::string_view::npos) path.remove_prefix(at + 1);
  }
  throw InternalError(
      fmt::format("{}:{}: {}{}{}", path, line, condition, detail.empty() ? "" : ": ", detail));
}

}  // namespace numlift
