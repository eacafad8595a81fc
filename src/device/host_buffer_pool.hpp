#pragma once
// Freed buffers, kept for the next allocation of their size, cleaned and with their pages in place.
//
// The first touch of fresh memory runs at 1 to 3 GB/s (the kernel clears page by page), moving data
// into memory that was touched before at 10 and more.

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

/// Nothing of what a buffer held is seen by who gets it next: a thread that runs only when a core
/// is idle clears it, or replaces it if another process may still have it mapped. Threads: any
/// Source: pool with size classes and eviction, SIA 5.3.3
class HostBufferPool {
 public:
  struct Limits {
    std::uint64_t capacity_bytes = 0;       ///< of idle buffers; 0: keeps none
    std::chrono::seconds longest_idle{60};  ///< then a buffer's memory goes back to the system
  };
  struct Use {
    std::uint64_t asked = 0;   ///< take() of a size that is kept
    std::uint64_t reused = 0;  ///< of those, how often there was one
    std::uint64_t idle_bytes = 0;
    std::uint64_t clean_bytes = 0;  ///< of those, ready to be taken
  };

  /// A kept buffer.
  struct Idle {
    std::shared_ptr<HostBuffer> buffer;
    std::chrono::steady_clock::time_point since;
    bool clean = false;
  };
  using Buffers = std::list<Idle>;

  /// Smaller buffers are made as fast as they are cleaned.
  static constexpr std::uint64_t kLeastBytes = 64 << 10;

  explicit HostBufferPool(Limits limits) : limits_(limits) {}
  ~HostBufferPool();
  HostBufferPool(const HostBufferPool&) = delete;
  HostBufferPool& operator=(const HostBufferPool&) = delete;

  /// A buffer with a segment of exactly the size that `size_bytes` takes; nullptr if there is none.
  std::shared_ptr<HostBuffer> take(std::uint64_t size_bytes);
  /// Keeps the buffer, if that leaves at most `room_bytes` idle; returns what had to go. Without
  /// memory or a thread for it the buffer goes.
  Buffers put(std::shared_ptr<HostBuffer> buffer, std::uint64_t room_bytes) noexcept;
  /// Lets the least recently used go until at most so many bytes are idle; returns them.
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
  std::atomic<bool> give_up_{false};  // the buffer that is being cleaned: its memory is wanted
  bool closing_ = false;
  std::thread cleaner_;  // started by the first put()
};

}  // namespace ob
