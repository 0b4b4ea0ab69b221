// The store that the options name, opened when it is first asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cpu/digest.h"
#include "numlift/codegen/disk_cache.h"

namespace numlift::codegen::cache {

// Whether there is a cache to ask. The first call with new options opens their directory; when that
// cannot be used the reason is logged, once.
bool is_on();

std::optional<std::string> find_object(const cpu::Digest& key);
void keep_object(const cpu::Digest& key, std::string_view object);
// After find_object(): it could not be loaded after all.
void refuse_object(const cpu::Digest& key, const std::string& why);

}  // namespace numlift::codegen::cache
