#pragma once
// Device memory that commands need besides their operands.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.hpp"

namespace ob {

class DeviceBuffer;
class DeviceMemory;

/// Workspaces of one stream. Consecutive commands of the stream use the same memory, which returns
/// to the device when the stream has run them.
/// Threads: the one that submits
class WorkArea {
 public:
  /// @param catch_up waits until the stream has run and released all submitted commands
  WorkArea(DeviceMemory& memory, std::function<void()> catch_up);
  ~WorkArea();
  WorkArea(const WorkArea&) = delete;
  WorkArea& operator=(const WorkArea&) = delete;

  /// Allocates uninitialised device memory that overlaps no other memory of this command.
  /// Memory: aligned to 256 bytes, valid until the stream has run the command; never nullptr if ok
  /// Errors: out_of_memory
  Result<std::byte*> device_bytes(std::uint64_t size_bytes);

  /// Ends the allocations of a submitted command; returns the memory, which the caller must hold
  /// until the stream has run the command.
  std::vector<std::shared_ptr<DeviceBuffer>> hand_over();

 private:
  Result<std::shared_ptr<DeviceBuffer>> block(std::uint64_t size_bytes);

  DeviceMemory& memory_;
  const std::function<void()> catch_up_;
  std::vector<std::shared_ptr<DeviceBuffer>> blocks_;  // the last one has free room
  std::uint64_t used_bytes_ = 0;                       // used part of the last block
  std::weak_ptr<DeviceBuffer> earlier_;                // that of running earlier commands
};

}  // namespace ob
