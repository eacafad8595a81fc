#pragma once
// A wait for other threads, which may themselves be waiting for the device of this thread.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/status.hpp"

namespace ob::algorithms {

/// The time between two checks of the own device.
inline constexpr std::chrono::milliseconds kCheckInterval{250};

/// Waits until `over` is true. Calls `check` every kCheckInterval, without the lock.
/// Errors: those of check; the lock is not held then
template <class Predicate>
Status checked_wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                    Predicate over, const std::function<Status()>& check) {
  while (!changed.wait_for(lock, kCheckInterval, over)) {
    lock.unlock();
    OB_RETURN_IF_ERROR(check());
    lock.lock();
  }
  return {};
}

}  // namespace ob::algorithms
