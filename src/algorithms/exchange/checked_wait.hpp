#pragma once
// Waiting for other threads that may, in the end, wait for the device of this one.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/status.hpp"

namespace ob::algorithms {

/// How long a thread waits for others before it looks whether its own device is there.
inline constexpr std::chrono::milliseconds kCheckInterval{1000};

/// Waits until `over`; meanwhile calls `look` now and then, without the lock.
/// Errors: those of look, then without the lock
template <class Predicate>
Status checked_wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                    Predicate over, const std::function<Status()>& look) {
  while (!changed.wait_for(lock, kCheckInterval, over)) {
    lock.unlock();
    OB_RETURN_IF_ERROR(look());
    lock.lock();
  }
  return {};
}

}  // namespace ob::algorithms
