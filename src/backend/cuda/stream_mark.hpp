#pragma once
// The mark that record() leaves in a queue of an accelerator.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/cuda/stream_event.hpp"
#include "device/host_event.hpp"

namespace ob::cuda {

/// Submitted first: from then on a stream can wait for it. Set when the recording queue's stream
/// got there.   Threads: any
class StreamMark final : public EventMark {
 public:
  /// @param event nullptr: no stream can wait for it, only a thread
  void submitted(std::shared_ptr<const StreamEvent> event) {
    const std::lock_guard lock(mutex_);
    event_ = std::move(event);
    submitted_ = true;
    changed_.notify_all();
  }
  bool is_submitted() const {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }
  /// Waits for submitted(); what a stream has to wait for, or nullptr.
  std::shared_ptr<const StreamEvent> event() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return submitted_; });
    return event_;
  }
  /// The stream got there: sets the mark, and lets go of the event.
  void reached() {
    {
      const std::lock_guard lock(mutex_);
      event_.reset();
    }
    set();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool submitted_ = false;
  std::shared_ptr<const StreamEvent> event_;
};

}  // namespace ob::cuda
