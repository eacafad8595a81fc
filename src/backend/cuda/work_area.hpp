#pragma once
// Device memory that a command needs beside its operands.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"

namespace ob::cuda {

class DeviceBuffer;
class DeviceMemory;

/// Workspaces of one stream, which its next command uses again.
/// Threads: the queue's executor
class WorkArea {
 public:
  explicit WorkArea(DeviceMemory& memory);
  ~WorkArea();
  WorkArea(const WorkArea&) = delete;
  WorkArea& operator=(const WorkArea&) = delete;

  /// So many bytes of device memory, uninitialised, apart from what this command got before.
  /// Memory: aligned to 256 bytes, valid until the command is done; never nullptr if ok
  /// Errors: out_of_memory
  Result<std::byte*> device_bytes(std::uint64_t size_bytes);

  /// The command is done, and so is the stream: all of it may be given out again.
  void reset() noexcept;

 private:
  DeviceMemory& memory_;
  std::vector<std::shared_ptr<DeviceBuffer>> blocks_;  // the last one is given out from
  std::uint64_t used_bytes_ = 0;                       // of the last
};

}  // namespace ob::cuda
