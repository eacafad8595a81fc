#pragma once
// Writes payloads to a device whose memory the host cannot see.

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/region_pieces.hpp"
#include "daemon/memory/resource_account.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// Copies payloads to the device through two blocks of host memory: the network fills one block
/// while the device reads the other. Small payloads share a block.
/// Memory: outlives the device's queue   Threads: owner only
class StagedWriter {
 public:
  static constexpr std::uint64_t kBlockBytes = kStagingBlockBytes;
  /// The largest host memory of a writer.
  static constexpr std::uint64_t kHostBytes = 2 * kBlockBytes;
  /// Runs on the device's thread each time that the queue has finished a block.
  using BlockDone = std::function<void(const QueueReport&)>;

  /// @param queue of the device, for the copies
  StagedWriter(Device& device, QueueId queue, Reservation memory, BlockDone block_done = {});

  /// Returns room for `size_bytes` more, which the device no longer reads.
  /// @param check called from time to time during a wait for the device; its failure ends the wait
  /// Errors: out_of_memory; those of check
  /// @pre size_bytes <= kBlockBytes
  Result<std::byte*> room(std::uint64_t size_bytes, const std::function<Status()>& check);
  /// Lets the queue copy the contents of that room to the region.
  Status submit(BufferId local, const Region& region);

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::mutex mutex;
    std::condition_variable changed;
    bool busy = false;
  };
  Status hand_over();
  static Status wait_for(Block& block, const std::function<Status()>& check);

  Device& device_;
  const QueueId queue_;
  const Reservation memory_;
  const BlockDone block_done_;
  std::array<std::shared_ptr<Block>, 2> blocks_;
  unsigned turn_ = 0;
  unsigned pieces_ = 0;           // pieces in the block
  std::uint64_t used_bytes_ = 0;  // used part of the block
  std::byte* room_ = nullptr;
};

}  // namespace ob::daemon
