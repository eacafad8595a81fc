#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/stream.hpp"

namespace ob::transport::detail {

/// Returns `parts` without its leading empty parts.
inline std::span<const iovec> without_leading_empty(std::span<const iovec> parts) noexcept {
  while (!parts.empty() && parts.front().iov_len == 0) parts = parts.subspan(1);
  return parts;
}

/// Walks through parts of memory.   Threads: owner only
class Pieces {
 public:
  explicit Pieces(std::span<const iovec> parts) : parts_(without_leading_empty(parts)) {}
  bool at_end() const noexcept { return parts_.empty(); }

  /// Returns up to kMostParts next pieces of at most limit_bytes in all, and sets `bytes` to their
  /// size.
  /// Memory: valid until the next call
  std::span<const iovec> next(std::uint64_t limit_bytes, std::size_t& bytes) noexcept {
    std::size_t count = 0;
    std::size_t offset = offset_;
    bytes = 0;
    for (std::size_t i = 0; i < parts_.size() && count < kMostParts && bytes < limit_bytes; ++i) {
      const std::size_t size =
          std::min<std::uint64_t>(parts_[i].iov_len - offset, limit_bytes - bytes);
      if (size != 0) {
        pieces_[count++] = {static_cast<std::byte*>(parts_[i].iov_base) + offset, size};
        bytes += size;
      }
      offset = 0;
    }
    return {pieces_.data(), count};
  }

  void advance(std::size_t bytes) noexcept {
    offset_ += bytes;
    while (!parts_.empty() && offset_ >= parts_.front().iov_len) {
      offset_ -= parts_.front().iov_len;
      parts_ = parts_.subspan(1);
    }
  }

 private:
  std::span<const iovec> parts_;
  std::size_t offset_ = 0;  // into the first part
  std::array<iovec, kMostParts> pieces_;
};

}  // namespace ob::transport::detail
