#pragma once
// Look-up of memory by buffer id.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ids.hpp"

namespace ob {

/// The longest time that an allocation waits for commands that still use freed buffers. Their end
/// is not known, and the call can run elsewhere.
inline constexpr std::chrono::seconds kLongestReleaseWait{2};

/// A buffer counts in whole units of this size.
inline constexpr std::uint64_t kMemoryUnitBytes = 4096;

/// Returns the bytes that a buffer of this size counts; UINT64_MAX for sizes that no device has.
constexpr std::uint64_t counted_bytes(std::uint64_t size_bytes) noexcept {
  if (size_bytes > UINT64_MAX - kMemoryUnitBytes) return UINT64_MAX;
  if (size_bytes == 0) return kMemoryUnitBytes;
  return (size_bytes + kMemoryUnitBytes - 1) / kMemoryUnitBytes * kMemoryUnitBytes;
}

/// The memory of a buffer, alive as long as it is held. `data` may be an address that only the
/// device can access.
struct HeldMemory {
  std::shared_ptr<const void> owner;  ///< nullptr: no such buffer
  std::byte* data = nullptr;
  std::uint64_t size_bytes = 0;
};

/// Threads: any
class MemoryTable {
 public:
  virtual HeldMemory held(BufferId id) const = 0;

 protected:
  ~MemoryTable() = default;
};

}  // namespace ob
