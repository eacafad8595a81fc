#pragma once
// Leases of a pool and their devices.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/objects.hpp"
#include "base/status.hpp"
#include "client/proxy.hpp"
#include "outboard/device.h"
#include "pool/lease_client.hpp"
#include "pool/lease_handles.hpp"
#include "transport/security.hpp"

namespace ob::api {

/// ob_lease_acquire() asks this manager for this.
struct LeaseTerms {
  std::string manager;  ///< its URL
  std::shared_ptr<const transport::Security> security;
  pool::LeaseWish wish;
  /// Opens a device, and makes a handle of it.
  std::function<Result<ob_device>(const pool::LeaseHandle& handle)> open;
  /// Lets its commands fail with `fenced`, if it is still open.
  std::function<void(ob_device device)> fence;
  /// Closes it, if the program has not done so.
  std::function<void(ob_device device)> close;
};

/// The devices that a program has of a pool. The manager knows it as one lease for each request:
/// the first one, and those of ob_lease_grow(). A thread renews them until release().
/// Threads: any
class HeldLease {
 public:
  explicit HeldLease(LeaseTerms terms);
  /// Ends the thread. What was not released ends by itself.
  ~HeldLease();
  HeldLease(const HeldLease&) = delete;
  HeldLease& operator=(const HeldLease&) = delete;

  /// Acquires and opens so many devices, or none.
  /// Errors: busy if they are not free until then; those of LeaseClient, and of opening a device
  Status add(std::uint32_t devices, Deadline until);
  /// Errors: invalid_argument if there are not so many
  Result<ob_device> device(std::uint32_t index) const;
  /// Closes a device and gives it back.   Errors: invalid_argument if the lease does not have it
  Status remove(ob_device device);
  /// Closes all devices and gives them back. Waits for callbacks.
  void release();
  /// Lets the proxy call `changed` at each change. nullptr: it calls nobody any more. Waits for
  /// calls of the one before.
  Status watch(void (*changed)(void* user, int32_t what, ob_device device), void* user);
  /// Gives all back without closing devices, at the end of the process that has acquired them.
  void give_back_at_exit() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct LeasedDevice {
    std::string name;  // as the manager calls it
    ob_device handle = nullptr;
    bool is_taken = false;
  };
  // One lease of the manager's.
  struct Part {
    std::string id;
    Clock::time_point renew_at;
    Clock::time_point ends_at;
    bool is_over = false;
    bool is_warned = false;  // the program knows that it ends soon
    std::vector<LeasedDevice> devices;
  };

  Result<pool::LeaseClient> manager() const;
  Result<pool::LeaseState> acquire(pool::LeaseClient& manager, const std::string& id,
                                   std::uint32_t devices, Deadline until) const;
  Result<Part> open(std::string id, const pool::LeaseState& lease, Clock::time_point asked) const;
  // @pre of these: the caller holds mutex_
  Status start();
  void note(Part& part, const Result<pool::LeaseState>& lease, Clock::time_point asked);
  void lose(Part& part, const std::vector<pool::LeaseHandle>& left);
  void report(std::int32_t what, ob_device device);

  void keep() noexcept;
  void renew(std::unique_lock<std::mutex>& lock);
  void end_thread();

  const LeaseTerms terms_;
  const pid_t process_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool ending_ = false;
  std::vector<Part> parts_;
  std::thread thread_;
  void (*watcher_)(void* user, int32_t what, ob_device device) = nullptr;
  void* user_ = nullptr;
  std::shared_ptr<client::Proxy> proxy_;  // calls the watcher
  const std::shared_ptr<PendingCallbacks> callbacks_ = std::make_shared<PendingCallbacks>();
};

/// Keeps the lease in mind, to give it back at the end of the process.
void give_back_at_exit(const std::shared_ptr<HeldLease>& lease);

}  // namespace ob::api
