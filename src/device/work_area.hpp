#pragma once
// Device memory that a command needs beside its operands.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.hpp"

namespace ob {

class DeviceBuffer;
class DeviceMemory;

/// Workspaces of one stream. Commands that follow each other in it use the same memory; when the
/// stream has passed them it is the device's again.
/// Threads: the one that submits
class WorkArea {
 public:
  /// @param catch_up waits until the stream has passed what was submitted, and let go of it
  WorkArea(DeviceMemory& memory, std::function<void()> catch_up);
  ~WorkArea();
  WorkArea(const WorkArea&) = delete;
  WorkArea& operator=(const WorkArea&) = delete;

  /// So many bytes of device memory, uninitialised, apart from what this command got before.
  /// Memory: aligned to 256 bytes, valid until the stream has passed the command; never nullptr if
  /// ok   Errors: out_of_memory
  Result<std::byte*> device_bytes(std::uint64_t size_bytes);

  /// The command is submitted: what is to be held until the stream has passed it.
  std::vector<std::shared_ptr<DeviceBuffer>> hand_over();

 private:
  Result<std::shared_ptr<DeviceBuffer>> block(std::uint64_t size_bytes);

  DeviceMemory& memory_;
  const std::function<void()> catch_up_;
  std::vector<std::shared_ptr<DeviceBuffer>> blocks_;  // the last one is given out from
  std::uint64_t used_bytes_ = 0;                       // of the last
  std::weak_ptr<DeviceBuffer> earlier_;                // of the commands before, while they run
};

}  // namespace ob
