#pragma once
// The daemon as a member of a managed pool: --pool and the options beside it.

#include <atomic>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "command_line.hpp"
#include "daemon/pool/leases.hpp"
#include "daemon/pool/pool_agent.hpp"
#include "daemon/server/server.hpp"
#include "device/device.hpp"
#include "transport/security.hpp"

namespace ob::apps {

/// Outlives the server.   Threads: one
class PoolMembership {
 public:
  /// @param options with --pool
  /// Errors: invalid_argument; denied if the manager would not know who asks
  static Result<std::unique_ptr<PoolMembership>> create(
      const Options& options, const std::vector<std::unique_ptr<Device>>& devices,
      std::shared_ptr<const transport::Security> security);

  /// True once the manager has asked for a restart. The process ends with kRestarts then.
  bool restarts() const noexcept { return restarts_; }
  /// The exit status of a daemon that is to be started again.
  static constexpr int kRestarts = 4;

  /// For the server's configuration.
  daemon::Leases& leases() noexcept { return leases_; }
  /// Starts to speak for the daemon with the manager.
  /// @returns the agent, which must end before the server, and tells the manager that it does
  std::unique_ptr<daemon::PoolAgent> join(daemon::Server& server);

 private:
  PoolMembership(const Options& options, std::string name, const daemon::LeaseGate::Config& gate,
                 std::vector<pool::ManagerAddress> managers,
                 std::shared_ptr<const transport::Security> security);

  const Options& options_;
  const std::string name_;
  const std::vector<daemon::GatedDevice> devices_;
  const std::vector<pool::ManagerAddress> managers_;
  const std::shared_ptr<const transport::Security> security_;
  daemon::Leases leases_;
  std::atomic<bool> restarts_{false};
};

}  // namespace ob::apps
