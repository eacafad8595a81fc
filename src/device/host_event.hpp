#pragma once
// Events of backends in host memory.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace ob {

/// One record() of an event: not yet reached, then done for ever.
/// Threads: any
class EventMark {
 public:
  void set();
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// @returns nanoseconds it waited; 0 if it was done
  std::uint64_t wait();

 private:
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// Remembers the last record() submitted. A queue that waits for an earlier one is not held by a
/// later one.
/// Threads: any
class HostEvent {
 public:
  /// @param mark a new one, which the recording queue sets when it gets there
  void record(std::shared_ptr<EventMark> mark);
  /// The last one; nullptr if the event was never recorded.
  std::shared_ptr<EventMark> last() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<EventMark> last_;
};

}  // namespace ob
