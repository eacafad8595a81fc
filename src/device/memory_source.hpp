#pragma once
// The driver's allocator of device memory.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace ob {

/// Allocates memory of a device. The host cannot access its addresses.   Threads: any
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// Allocates uninitialised memory.   Errors: out_of_memory; device_error
  virtual Result<std::byte*> obtain(std::uint64_t size_bytes) = 0;
  /// Frees memory that no command uses any more.
  virtual void give_back(std::byte* data) noexcept = 0;
  /// Zeroes memory and waits until that is done.   Errors: device_error
  virtual Status clear(std::byte* data, std::uint64_t size_bytes) = 0;
};

}  // namespace ob
