#pragma once
// Starts a daemon for one benchmark, and stops it with the benchmark.

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "bench/child_process.hpp"

namespace ob::bench {

/// outboardd from the folder of this program, listening on a free loopback port and on a unix:
/// socket.
class DaemonProcess {
 public:
  /// Errors: unavailable if it cannot be started or does not say where it listens.
  static Result<std::unique_ptr<DaemonProcess>> start(const std::vector<std::string>& options);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  const std::string& tcp() const noexcept { return tcp_; }
  const std::string& shm() const noexcept { return shm_; }

 private:
  DaemonProcess() = default;
  std::string directory_;
  std::unique_ptr<ChildProcess> process_;
  std::string tcp_;
  std::string shm_;
};

}  // namespace ob::bench
