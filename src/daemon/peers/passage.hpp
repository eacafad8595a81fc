#pragma once
// A peer message that is handed on while it arrives, as it arrives: whatever its buffer is used for
// meanwhile.

#include <chrono>
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
#include "daemon/memory/memory_account.hpp"

namespace ob::daemon {

/// Host memory that peer messages of one link pass through, used again and again.   Threads: any
class PassageBlocks {
 public:
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 20;
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    Reservation reserved;
  };

  explicit PassageBlocks(std::shared_ptr<MemoryAccount> host_memory)
      : host_memory_(std::move(host_memory)) {}

  /// Errors: out_of_memory, of the account
  Result<Block> take();
  void give_back(Block block);

 private:
  const std::shared_ptr<MemoryAccount> host_memory_;
  std::mutex mutex_;
  std::vector<Block> spare_;
};

/// Threads: append() and fail() by whoever receives, the rest by whoever hands on
class Passage {
 public:
  explicit Passage(std::shared_ptr<PassageBlocks> blocks) : blocks_(std::move(blocks)) {}
  ~Passage() {
    for (Part& part : parts_) blocks_->give_back(std::move(part.block));
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  /// Copies what has arrived.   Errors: those of the account
  Status append(const Layout& part);
  /// Nothing more comes.
  void fail(const Status& why);

  /// Waits for more; as much as there is of it in one piece.
  /// @param left asked now and then: true ends that
  /// Errors: what it failed with; unavailable
  Result<std::span<const std::byte>> await(const std::function<bool()>& left);
  /// So many bytes of that are not needed any more.
  void consume(std::size_t count_bytes);

 private:
  struct Part {
    PassageBlocks::Block block;
    std::size_t filled_bytes = 0;
  };

  const std::shared_ptr<PassageBlocks> blocks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> parts_;
  std::size_t consumed_bytes_ = 0;  // of the first
  Status failure_;
};

}  // namespace ob::daemon
