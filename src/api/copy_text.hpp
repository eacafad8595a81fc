#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace ob::api {

/// Copies a text to a member of a C struct: cut to its size, and filled up with zeros.
template <std::size_t kBytes>
void copy_text(char (&to)[kBytes], std::string_view text) noexcept {
  const std::size_t fits = std::min(text.size(), kBytes - 1);
  std::memcpy(to, text.data(), fits);
  std::memset(to + fits, 0, kBytes - fits);
}

}  // namespace ob::api
