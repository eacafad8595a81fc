#pragma once

#include <sys/uio.h>

#include <span>

namespace ob::transport::detail {

/// `parts` from its first part that has bytes.
inline std::span<const iovec> without_leading_empty(std::span<const iovec> parts) noexcept {
  while (!parts.empty() && parts.front().iov_len == 0) parts = parts.subspan(1);
  return parts;
}

}  // namespace ob::transport::detail
