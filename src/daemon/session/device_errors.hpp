#pragma once
// The sessions that have met errors of a device, for the manager of the pool.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "daemon/io/log.hpp"
#include "daemon/lease_gate/lease_session.hpp"

namespace ob::daemon {

/// The errors of a device. A session counts for a minute after its last one, also when it has ended
/// meanwhile. Errors of an isolated device are those of its clients' processes: no session counts,
/// and only a self-test finds that the device itself has failed. Otherwise a client could take it
/// from the others.
/// Threads: any
class DeviceErrors {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kRemembered{60};

  /// @param device its name, for the log
  /// @param isolated DeviceInfo::isolated
  DeviceErrors(std::string device, bool isolated)
      : device_(std::move(device)), isolated_(isolated) {}

  /// Notes a failure that a session is told of. Only a device_error is one of the device.
  void note(LeaseSessionId session, const Status& failure, Clock::time_point now) {
    if (failure.code() != Code::device_error) return;
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      ++noted_;
      forget_old(now);
      is_first = sessions_.insert_or_assign(session, now).second;
    }
    if (is_first) log::warn("device " + device_ + " has failed: " + failure.message());
  }

  /// Returns the sessions that had an error within kRemembered; 0 if the device is isolated.
  std::size_t sessions(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    forget_old(now);
    return isolated_ ? 0 : sessions_.size();
  }

  const std::string& device() const noexcept { return device_; }
  bool isolated() const noexcept { return isolated_; }
  /// Forgets the sessions so far.
  void forget() {
    const std::lock_guard lock(mutex_);
    sessions_.clear();
  }

  /// Returns the number of errors since the start of the daemon.
  std::uint64_t noted() const {
    const std::lock_guard lock(mutex_);
    return noted_;
  }

 private:
  void forget_old(Clock::time_point now) {
    std::erase_if(sessions_, [&](const auto& one) { return now - one.second > kRemembered; });
  }

  const std::string device_;
  const bool isolated_;
  mutable std::mutex mutex_;                              // guards all below
  std::map<LeaseSessionId, Clock::time_point> sessions_;  // the last error of each
  std::uint64_t noted_ = 0;
};

/// The errors that one session meets.   Threads: any
class SessionErrors {
 public:
  SessionErrors(std::shared_ptr<DeviceErrors> device, LeaseSessionId session)
      : device_(std::move(device)), session_(session) {}

  void note(const Status& failure) const {
    device_->note(session_, failure, DeviceErrors::Clock::now());
  }

 private:
  const std::shared_ptr<DeviceErrors> device_;
  const LeaseSessionId session_;
};

}  // namespace ob::daemon
