#pragma once
// Events that the host's threads set and wait for.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace ob {

/// One record() of an event. It is first pending, and then done forever.
/// Threads: any
class EventMark {
 public:
  void set();
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Waits until the mark is done.   @returns the nanoseconds waited; 0 if it was done before
  std::uint64_t wait();

 private:
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// Remembers the last submitted record(). A queue that waits for an earlier record() does not wait
/// for a later one.
/// Threads: any
class HostEvent {
 public:
  /// Remembers a record().   @param mark a new mark, which the recording queue will set
  void record(std::shared_ptr<EventMark> mark);
  /// Returns the mark of the last record(); nullptr if there is none.
  std::shared_ptr<EventMark> last() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<EventMark> last_;
};

}  // namespace ob
