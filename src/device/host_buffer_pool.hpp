#pragma once
// A pool of freed buffers for later allocations of their size. They are cleaned, and their pages
// are present.
//
// The first touch of fresh memory runs at 1 to 3 GB/s, because the kernel clears page by page. Data
// move into memory that was touched before at 10 GB/s and more.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "device/host_buffer.hpp"

namespace ob {

/// The next user of a buffer sees nothing of its old contents: a thread of idle priority clears the
/// buffer, or replaces it if another process may still have it mapped.
/// Threads: any
/// Source: pool with size classes and eviction, SIA 5.3.3
class HostBufferPool {
 public:
  struct Limits {
    std::uint64_t capacity_bytes = 0;       ///< largest total of idle buffers; 0: no pool
    std::chrono::seconds longest_idle{60};  ///< afterwards a buffer's memory returns to the system
  };
  struct Use {
    std::uint64_t asked = 0;   ///< calls of take() for pooled sizes
    std::uint64_t reused = 0;  ///< the part of `asked` that found a buffer
    std::uint64_t idle_bytes = 0;
    std::uint64_t clean_bytes = 0;  ///< the part of idle_bytes that is ready to be taken
  };

  /// An idle buffer.
  struct Idle {
    std::shared_ptr<HostBuffer> buffer;
    std::chrono::steady_clock::time_point since;
    bool clean = false;
  };
  using Buffers = std::list<Idle>;

  /// Smaller buffers are not pooled: a new one costs no more than cleaning.
  static constexpr std::uint64_t kLeastBytes = 64 << 10;

  explicit HostBufferPool(Limits limits) : limits_(limits) {}
  ~HostBufferPool();
  HostBufferPool(const HostBufferPool&) = delete;
  HostBufferPool& operator=(const HostBufferPool&) = delete;

  /// Takes a buffer with a segment of exactly the size for `size_bytes`; nullptr if there is none.
  std::shared_ptr<HostBuffer> take(std::uint64_t size_bytes);
  /// Adds a buffer if at most `room_bytes` are idle then; returns the buffers that must go for it.
  /// Without memory or a thread for it the buffer itself is returned.
  Buffers put(std::shared_ptr<HostBuffer> buffer, std::uint64_t room_bytes) noexcept;
  /// Removes the least recently used buffers until at most idle_bytes are idle, and returns them.
  Buffers shrink_to(std::uint64_t idle_bytes) noexcept;

  Use use() const;

 private:
  using Clock = std::chrono::steady_clock;
  void keep_clean() noexcept;
  void take_back(Buffers& one, std::uint64_t size_bytes) noexcept;
  std::shared_ptr<HostBuffer> cleaned(std::shared_ptr<HostBuffer> buffer) const;
  Buffers drop_down_to(std::uint64_t idle_bytes) noexcept;
  Buffers drop_older_than(Clock::time_point time) noexcept;
  void forget_last(Buffers& gone) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Buffers idle_;  // front: most recently freed
  Use use_;
  std::atomic<bool> stop_cleaning_{false};  // the memory of the buffer in cleaning is wanted
  bool closing_ = false;
  std::thread cleaner_;  // started by the first put()
};

}  // namespace ob
