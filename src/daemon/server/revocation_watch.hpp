#pragma once
// Follows the pool's list of revoked members while the daemon runs.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "transport/security.hpp"

namespace ob::daemon {

/// Reads the list again at an interval, and then lets the server end the connections of revoked
/// members.   Threads: any
class RevocationWatch {
 public:
  /// A revoked member keeps its connections for at most this long after its list is in place.
  static constexpr std::chrono::milliseconds kInterval{1000};

  /// Starts a thread that calls `end_revoked` after each reading. (A handshake may have begun
  /// before the list came.)
  /// @param security nullptr: nothing happens
  RevocationWatch(std::shared_ptr<const transport::Security> security,
                  std::function<void()> end_revoked);
  ~RevocationWatch();
  RevocationWatch(const RevocationWatch&) = delete;
  RevocationWatch& operator=(const RevocationWatch&) = delete;

  /// Reads the list now.
  void reload() noexcept;

 private:
  void run();

  const std::shared_ptr<const transport::Security> security_;
  const std::function<void()> end_revoked_;
  std::mutex mutex_;  // guards closing_
  std::condition_variable changed_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace ob::daemon
