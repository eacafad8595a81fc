#pragma once
// The copy of a peer message that is forwarded while it arrives.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "daemon/memory/resource_account.hpp"

namespace ob::daemon {

/// Blocks of host memory that the forward buffers of one link reuse.
/// Threads: any
class ForwardBlocks {
 public:
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    Reservation reserved;
  };

  explicit ForwardBlocks(std::shared_ptr<ResourceAccount> host_memory)
      : host_memory_(std::move(host_memory)) {}

  /// Errors: out_of_memory, of the account or the host
  Result<Block> acquire();
  void release(Block block);

 private:
  const std::shared_ptr<ResourceAccount> host_memory_;
  std::mutex mutex_;
  std::vector<Block> spare_;
};

/// Holds the part of a peer message that has arrived and is not forwarded yet. The message's own
/// buffer may change meanwhile.
/// Threads: append() and fail() by the receiver; read() and consume() by the link
class ForwardBuffer {
 public:
  explicit ForwardBuffer(std::shared_ptr<ForwardBlocks> blocks) : blocks_(std::move(blocks)) {}
  ~ForwardBuffer();
  ForwardBuffer(const ForwardBuffer&) = delete;
  ForwardBuffer& operator=(const ForwardBuffer&) = delete;

  /// Copies the next elements.   Errors: those of ForwardBlocks::acquire()
  Status append(const Layout& part);
  /// Ends the message: nothing more is appended.
  void fail(const Status& why);

  /// Waits for more bytes, and returns one contiguous piece of them.
  /// @param cancelled called from time to time; true ends the wait
  /// Errors: the failure of the message; unavailable if it is cancelled
  Result<std::span<const std::byte>> read(const std::function<bool()>& cancelled);
  /// Releases the first `count_bytes` that read() returned.
  void consume(std::size_t count_bytes);

 private:
  struct Part {
    ForwardBlocks::Block block;
    std::size_t filled_bytes = 0;
  };

  const std::shared_ptr<ForwardBlocks> blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> parts_;
  std::size_t consumed_bytes_ = 0;  // consumed part of the first block
  Status failure_;
};

}  // namespace ob::daemon
