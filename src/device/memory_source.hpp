#pragma once
// Where a device's memory comes from.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace ob {

/// What a driver gives. Addresses are the device's; the host cannot touch them.   Threads: any
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// Uninitialised memory.   Errors: out_of_memory; device_error
  virtual Result<std::byte*> obtain(std::uint64_t size_bytes) = 0;
  /// No command uses it any more.
  virtual void give_back(std::byte* data) noexcept = 0;
  /// Zeroes memory, and waits for it.   Errors: device_error
  virtual Status clear(std::byte* data, std::uint64_t size_bytes) = 0;
};

}  // namespace ob
