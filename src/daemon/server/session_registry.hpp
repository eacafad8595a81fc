#pragma once
// The devices of a daemon and the sessions on them.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "daemon/io/daemon_counters.hpp"
#include "daemon/memory/memory_share.hpp"
#include "daemon/memory/resource_account.hpp"
#include "daemon/server/session_budgets.hpp"
#include "daemon/session/plan_cache.hpp"
#include "daemon/session/session.hpp"
#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Threads: any
class SessionRegistry {
 public:
  struct Holder {
    const Session* name;  ///< not to be dereferenced
    std::uint64_t bytes;
    bool holds_user_data;
  };

  /// @pre !devices.empty()
  SessionRegistry(std::vector<std::unique_ptr<Device>> devices, const SessionLimits& limits);

  std::uint32_t device_count() const noexcept {
    return static_cast<std::uint32_t>(devices_.size());
  }
  const Device& device(std::uint32_t index) const { return *devices_[index]->device; }
  Device& device(std::uint32_t index) { return *devices_[index]->device; }
  /// Returns what all sessions of a device have used so far.
  Use use_of(std::uint32_t index) const { return devices_[index]->use->use(); }
  DaemonCounters& counters() const noexcept { return *counters_; }
  struct SessionCount {
    std::size_t all = 0;
    std::size_t unleased = 0;  ///< without a lease, at a daemon of a pool
  };
  /// Returns the number of living sessions of each device.
  std::vector<SessionCount> session_counts();

  /// Finds or makes the session that a client asks for (SessionDirectory).
  /// @param lease the right of a new session to one device; nullptr: none is needed
  Result<std::shared_ptr<Session>> open(const wire::Hello& hello, const std::string& user,
                                        std::unique_ptr<const SessionLease> lease);
  /// Returns the names of the living sessions that the gate has cut off.
  std::vector<const Session*> cut_off_sessions();
  /// Returns the other sessions of this one's device that hold memory of it. The memory of another
  /// lease is not for this one.
  std::vector<Holder> other_holders(const Session& session);
  /// Returns the device of the session with this name; nothing if there is none.
  std::optional<std::uint32_t> device_of(const Session* name);

 private:
  struct ServedDevice {
    explicit ServedDevice(std::unique_ptr<Device> served)
        : device(std::move(served)), plans(*device), share(device->info().memory_bytes) {}
    const std::unique_ptr<Device> device;
    const std::shared_ptr<UseCounter> use = std::make_shared<UseCounter>();
    PlanCache plans;
    MemoryShare share;
  };
  struct Known {
    wire::Token token;
    std::uint32_t device;
    std::weak_ptr<Session> session;
    const Session* name;
    std::weak_ptr<const ResourceAccount> memory;  // it counts its user as present
    bool holds_user_data;
    std::shared_ptr<LeaseSession> lease;  // nullptr: the daemon is in no pool
    const LeaseAccount* account;          // names its lease, if any; not to be dereferenced
    UserId user;                          // only this one may join it
  };
  using Devices = std::vector<std::unique_ptr<Device>>;
  static std::vector<std::uint64_t> memory_of(const Devices& devices);
  std::uint32_t least_used_device() const;
  Result<std::shared_ptr<Session>> find(const wire::Token& token, UserId user) const;
  Result<std::uint32_t> choose_device(const wire::Hello& hello, const SessionLease* lease) const;
  UserId number_of(const std::string& user);

  const std::shared_ptr<DaemonCounters> counters_ = std::make_shared<DaemonCounters>();
  std::vector<std::unique_ptr<ServedDevice>> devices_;
  const SessionBudgets budgets_;
  std::mutex mutex_;
  std::vector<Known> sessions_;
  std::map<std::string, std::uint64_t> users_;  // numbers of the proven users so far
};

}  // namespace ob::daemon
