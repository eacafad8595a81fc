#pragma once
// How far a parcel has come that is handed on while it arrives.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/ids.hpp"
#include "base/status.hpp"

namespace ob::daemon {

/// Threads: any
class Passage {
 public:
  /// @param landed recorded behind what lands, if the device copies it; else empty
  explicit Passage(EventId landed = {}) : landed_(landed) {}

  EventId landed() const noexcept { return landed_; }

  void advance(std::uint64_t to_bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ = to_bytes;
    changed_.notify_all();
  }
  void fail(const Status& why) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = why;
    changed_.notify_all();
  }
  /// True if so many bytes have come.
  bool has(std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    return bytes_ >= bytes;
  }
  /// Waits for so many bytes.   Errors: what it failed with; unavailable once `left` is true
  Status await(std::uint64_t bytes, const std::function<bool()>& left) const {
    std::unique_lock lock(mutex_);
    while (failure_.ok() && bytes_ < bytes) {
      changed_.wait_for(lock, kSlice);
      if (left()) return {Code::unavailable, "nobody wants the parcel any more"};
    }
    return failure_;
  }

 private:
  static constexpr std::chrono::milliseconds kSlice{50};

  const EventId landed_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t bytes_ = 0;
  Status failure_;
};

}  // namespace ob::daemon
