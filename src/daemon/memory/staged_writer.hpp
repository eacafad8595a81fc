#pragma once
// Payloads on their way to a device whose memory the host cannot see.

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/memory_account.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// A client hears of the daemon at least this often while the daemon holds a payload back: no ping
/// is answered then.
inline constexpr std::chrono::milliseconds kKeepAliveInterval{500};

/// Copies payloads to the device through two blocks of host memory: the network fills one while the
/// device empties the other. Small payloads share a block.
/// Memory: outlives the device's queue   Threads: owner only
class StagedWriter {
 public:
  /// Network and device overlap from about this size on (docs/backends.md).
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20;
  /// The most that a writer takes of the host.
  static constexpr std::uint64_t kHostBytes = 2 * kBlockBytes;
  /// Called on the device's thread each time that the queue is done with a block.
  using BlockDone = std::function<void(const QueueReport&)>;

  /// @param queue of the device, for the copies
  StagedWriter(Device& device, QueueId queue, Reservation memory, BlockDone block_done = {});

  /// Returns room for `size_bytes` more that the device no longer reads.
  /// @param idle called now and then while the device holds things up; its failure ends the wait
  /// Errors: out_of_memory; those of idle
  /// @pre size_bytes <= kBlockBytes
  Result<std::byte*> room(std::uint64_t size_bytes, const std::function<Status()>& idle);
  /// Makes the queue copy what lies in that room to the region.
  Status submit(BufferId local, const Region& region);

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::mutex mutex;
    std::condition_variable changed;
    bool busy = false;
  };
  Status hand_over();
  static Status wait_for(Block& block, const std::function<Status()>& idle);

  Device& device_;
  const QueueId queue_;
  const Reservation memory_;
  const BlockDone block_done_;
  std::array<std::shared_ptr<Block>, 2> blocks_;
  unsigned turn_ = 0;
  unsigned pieces_ = 0;           // in the block
  std::uint64_t used_bytes_ = 0;  // of it
  std::byte* room_ = nullptr;
};

}  // namespace ob::daemon
