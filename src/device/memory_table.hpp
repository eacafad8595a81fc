#pragma once
// Memory that commands name by their buffers, wherever it is.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ids.hpp"

namespace ob {

/// Memory of a buffer, for as long as it is held. `data` may be an address that only the device
/// understands.
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
