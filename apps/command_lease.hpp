#pragma once
// The accelerators of a pool that a command holds while it runs.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.hpp"
#include "pool/lease_client.hpp"

namespace ob::apps {

/// A lease of devices that are free now, or after a moment. A thread renews it; the end of the
/// object gives the devices back. A lease that cannot be renewed or given back ends after its lease
/// time.
/// Threads: one
class CommandLease {
 public:
  /// @param manager the URL of one manager or more   @param key a folder; empty: none
  /// @param devices all of them, exclusively, or none
  /// Errors: busy if they are not free within 0.15 s; those of LeaseClient and of load_key().
  /// Nothing is held then, unless the manager was silent: a lease that it gave later ends after its
  /// lease time.
  static Result<std::unique_ptr<CommandLease>> acquire(const std::string& manager,
                                                       const std::string& key, std::size_t devices);
  ~CommandLease();
  CommandLease(const CommandLease&) = delete;
  CommandLease& operator=(const CommandLease&) = delete;

  /// The name that the manager knows it by.
  const std::string& id() const noexcept { return id_; }

 private:
  using Clock = std::chrono::steady_clock;

  CommandLease(pool::LeaseClient manager, std::string id)
      : manager_(std::move(manager)), id_(std::move(id)) {}
  void keep(Clock::duration pause) noexcept;
  Clock::duration renew();

  pool::LeaseClient manager_;  // the thread has it until it ends
  const std::string id_;
  std::mutex mutex_;  // guards ending_
  std::condition_variable ends_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ob::apps
