#pragma once
// Payloads of devices whose memory the host cannot see: they pass through blocks of host memory.

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/session/session.hpp"
#include "device/device.hpp"

namespace ob::daemon {

/// Cuts a region into pieces of at most `most_bytes`, each a region whose elements follow one
/// another in the packed order of the whole, and calls `take` with them in that order until it
/// fails.   @pre an element is no larger
Status for_each_piece(const Region& region, std::uint64_t most_bytes,
                      const std::function<Status(const Region&)>& take);

/// What a queue's payloads pass through on their way to the device: two blocks, one of which the
/// network fills while the device empties the other. Small payloads share a block.
/// Memory: outlives the device's queue   Threads: the connection's
class StagedWriter {
 public:
  /// Network and device work side by side from about here on (docs/backends.md).
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20;
  /// What it takes of the host at most.
  static constexpr std::uint64_t kHostBytes = 2 * kBlockBytes;

  StagedWriter(Device& device, Reservation memory) : device_(device), memory_(std::move(memory)) {}

  /// Room for `size_bytes` more, which the device is done with.   @pre at most kBlockBytes
  /// @param idle called now and then while the device holds things up; its failure ends that
  /// Errors: out_of_memory; those of idle
  Result<std::byte*> room(const std::shared_ptr<SessionQueue>& queue, std::uint64_t size_bytes,
                          const std::function<Status()>& idle);
  /// The device takes what lies in that room to the region, in the queue's turn.
  Status submit(SessionQueue& queue, BufferId local, const Region& region, std::uint64_t sequence);

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::mutex mutex;
    std::condition_variable changed;
    bool busy = false;
  };
  Status hand_over(const std::shared_ptr<SessionQueue>& queue);
  static Status wait_for(Block& block, const std::function<Status()>& idle);

  Device& device_;
  const Reservation memory_;
  std::array<std::shared_ptr<Block>, 2> blocks_;
  unsigned turn_ = 0;
  unsigned pieces_ = 0;           // in the block
  std::uint64_t used_bytes_ = 0;  // of it
  std::byte* room_ = nullptr;
};

/// Elements of a region on their way to the network: read by a queue of the device that does
/// nothing else, while the one whose turn it is waits.
/// Threads: one at a time, the answer's
class StagedReader {
 public:
  static constexpr std::uint64_t kBlockBytes = StagedWriter::kBlockBytes;

  StagedReader(Device& device, QueueId transfers, std::shared_ptr<DeviceBuffer> buffer,
               const Region& region)
      : device_(device), transfers_(transfers), buffer_(std::move(buffer)), region_(region) {}

  std::uint64_t total_bytes() const noexcept { return packed_bytes(region_); }

  /// Calls `first` when the first elements are there (or could not be had: then it is all), then
  /// `take` with the elements in packed order, while the next are on their way.
  Status run(const std::function<Status(const Status&)>& first,
             const std::function<Status(const Layout&)>& take);

 private:
  Status fetch(const Region& piece, std::byte* to);

  Device& device_;
  const QueueId transfers_;
  const std::shared_ptr<DeviceBuffer> buffer_;
  const Region region_;
};

}  // namespace ob::daemon
