#pragma once
// The mark that record() leaves in a queue of an accelerator.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/cuda/stream_event.hpp"
#include "device/host_event.hpp"

namespace ob::cuda {

/// A mark is first submitted, and a stream can wait for it from then on. It is set when the stream
/// of the recording queue has reached it.   Threads: any
class StreamMark final : public EventMark {
 public:
  /// Notes the submission.   @param event nullptr: only threads can wait for it, no stream
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
  /// Waits for submitted(); returns the event that a stream must wait for, or nullptr.
  std::shared_ptr<const StreamEvent> event() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return submitted_; });
    return event_;
  }
  /// Sets the mark when the stream has reached it, and releases the event.
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
