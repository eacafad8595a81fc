#pragma once
// A pool of the segments of freed buffers, for later buffers of their size. They are cleaned, and
// their pages are present.
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

/// The next user of a segment sees nothing of its old contents: a thread of idle priority clears
/// the segment, or replaces it if a client may still have it mapped. A segment that the executor of
/// a user has mapped only serves this user again.
/// Threads: any
/// Source: pool with size classes and eviction, SIA 5.3.3
class HostSegmentPool {
 public:
  struct Limits {
    std::uint64_t capacity_bytes = 0;       ///< largest total of idle segments; 0: no pool
    std::uint64_t most_idle = 256;          ///< segments; each takes a file descriptor
    std::chrono::seconds longest_idle{60};  ///< afterwards a segment's memory returns to the system
  };
  struct Use {
    std::uint64_t asked = 0;   ///< calls of take() for pooled sizes
    std::uint64_t reused = 0;  ///< the part of `asked` that found a segment
    std::uint64_t idle_bytes = 0;
    std::uint64_t clean_bytes = 0;  ///< the part of idle_bytes that is ready to be taken
  };

  /// An idle segment.
  struct Idle {
    std::shared_ptr<HostSegment> segment;
    std::uint64_t touched_bytes;  ///< bytes of its beginning that may have old contents
    std::chrono::steady_clock::time_point since;
    bool clean = false;
  };
  using Segments = std::list<Idle>;

  /// Smaller segments are not pooled: a new one costs no more than cleaning.
  static constexpr std::uint64_t kLeastBytes = 64 << 10;

  explicit HostSegmentPool(Limits limits) : limits_(limits) {}
  ~HostSegmentPool();
  HostSegmentPool(const HostSegmentPool&) = delete;
  HostSegmentPool& operator=(const HostSegmentPool&) = delete;

  /// Takes a segment of exactly the size for a buffer of `size_bytes`; nullptr if there is none
  /// that may serve the owner.
  std::shared_ptr<HostSegment> take(std::uint64_t size_bytes, const Account& owner = {});
  /// Adds the segment of a buffer that had it for itself, if at most `room_bytes` are idle then;
  /// returns the segments that must go for it. Without memory or a thread for it, the segment is
  /// released.
  Segments put(HostBuffer buffer, std::uint64_t room_bytes) noexcept;
  /// Removes the least recently used segments until at most idle_bytes are idle, and returns them.
  Segments shrink_to(std::uint64_t idle_bytes) noexcept;

  Use use() const;

 private:
  using Clock = std::chrono::steady_clock;
  void keep_clean() noexcept;
  void take_back(Segments& one, std::uint64_t size_bytes) noexcept;
  std::shared_ptr<HostSegment> cleaned(Idle& idle) const;
  Segments drop_down_to(std::uint64_t idle_bytes) noexcept;
  Segments drop_older_than(Clock::time_point time) noexcept;
  void forget_last(Segments& gone) noexcept;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Segments idle_;  // front: most recently freed
  Use use_;
  std::atomic<bool> stop_cleaning_{false};  // the memory of the segment in cleaning is wanted
  bool closing_ = false;
  std::thread cleaner_;  // started by the first put()
};

}  // namespace ob
