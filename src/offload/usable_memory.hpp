#pragma once
// The memory of a device that operands may take.

#include <algorithm>
#include <cstdint>

namespace ob::offload {

/// A call that ran out of memory runs again with this fraction (one part in so many) of the memory.
inline constexpr unsigned kShareAfterExhaustion = 4;

/// Devices count memory in units, and other users have some of it.   Units: bytes
inline std::uint64_t spare_memory(std::uint64_t memory_bytes) noexcept {
  return std::min<std::uint64_t>(memory_bytes / 8, 64 << 10);
}

/// True if operands of `needed_bytes` fit at once on a device with `memory_bytes`.
inline bool fits_in_memory(double needed_bytes, std::uint64_t memory_bytes) noexcept {
  return needed_bytes <= static_cast<double>(memory_bytes - spare_memory(memory_bytes));
}

}  // namespace ob::offload
