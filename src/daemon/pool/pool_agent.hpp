#pragma once
// Speaks for a daemon with the manager of its pool: registers it, and enforces what the manager
// wants.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "daemon/pool/device_health.hpp"
#include "daemon/pool/leases.hpp"
#include "pool/manager_link.hpp"
#include "pool/registration.hpp"
#include "transport/security.hpp"

namespace ob::daemon {

/// The agent tells the manager this about its daemon.
struct PoolNode {
  std::string name;
  std::vector<std::string> addresses;  ///< under which others reach it
  std::map<std::string, std::string> labels;
  std::vector<pool::DeviceFacts> devices;
  /// Returns the memory that a device has in use [bytes]. Threads: the agent's
  std::function<std::uint64_t(std::size_t device)> memory_used;
  DeviceHealth::Test self_test;
  std::chrono::milliseconds self_test_interval{60'000};
  /// Ends the daemon, as SIGTERM does; its supervisor starts it again.   Threads: the agent's
  std::function<void()> restart;
};

/// One thread, and that of its DeviceHealth, from construction to destruction. While the manager
/// cannot be asked, it tries again.
/// Threads: any
class PoolAgent {
 public:
  /// @param leases outlives the agent
  /// @param security the daemon's key; nullptr: none
  PoolAgent(Leases& leases, PoolNode node, std::vector<pool::ManagerAddress> managers,
            std::shared_ptr<const transport::Security> security);
  /// Tells the manager that the daemon stops, and waits a moment for its answer.
  ~PoolAgent();
  PoolAgent(const PoolAgent&) = delete;
  PoolAgent& operator=(const PoolAgent&) = delete;

 private:
  using Seconds = std::chrono::duration<double>;

  void run();
  Status register_daemon();
  Status beat();
  Result<pool::HttpResponse> ask(const char* method, const std::string& target, std::string body,
                                 Seconds wait, Exchanged& exchanged);
  Status refused(const pool::HttpResponse& response);
  pool::Heartbeat heartbeat(const LeaseReport& report);
  void note_broken(const pool::DesiredState& state);
  void note_restart(const pool::DesiredState& state);
  void say(const Status& status);
  bool pause(std::chrono::milliseconds time);  // false: the agent stops
  void deregister() noexcept;

  Leases& leases_;
  PoolNode node_;
  DeviceHealth health_;
  const std::string instance_;
  const std::string path_;
  pool::ManagerLink link_;
  bool registered_ = false;
  std::uint64_t seq_ = 0;
  bool restarts_ = false;
  std::string said_;  // the last line of the log
  std::mutex mutex_;  // guards stopping_
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ob::daemon
