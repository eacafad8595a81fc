#pragma once
// The byte order of the element data that the other side of a connection sends and receives.

#include <cstdint>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "wire/byte_swap.hpp"

namespace ob::daemon {

/// Tells which words of a payload are swapped.   Threads: any
class ElementByteOrder {
 public:
  /// @param big_endian the value in the other side's first message
  explicit ElementByteOrder(std::uint8_t big_endian) noexcept
      : differs_(big_endian != wire::kBigEndian) {}

  bool differs() const noexcept { return differs_; }

  /// Checks that the receiver of the region's elements knows what to swap.
  /// Errors: invalid_argument if the byte orders differ and the region has no word size
  Status check(const Region& region) const {
    if (!differs_ || region.word_bytes != 0) return {};
    return {Code::invalid_argument,
            "the region's word_bytes is 0 (client and daemon differ in byte order)"};
  }
  /// The size of the words to swap in a payload of the region; 1 if nothing is swapped.
  std::uint32_t swapped_word_bytes(const Region& region) const noexcept {
    return differs_ ? region.word_bytes : 1;
  }

 private:
  bool differs_;
};

}  // namespace ob::daemon
