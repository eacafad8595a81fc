#pragma once
// The health of the devices of a pooled daemon, which the manager judges (docs/pool.md, "Devices").

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/pool/leases.hpp"
#include "device/self_test.hpp"

namespace ob::daemon {

/// Watches for errors of devices, and tests devices that had one: once when the error is new, and
/// again and again while the manager calls the device broken.
///
/// One thread makes the tests, because a device may let it wait.   Threads: any
class DeviceHealth {
 public:
  /// Makes a test of a device (ob::self_test).
  using Test = std::function<SelfTest(std::size_t device, const std::function<bool()>& gives_up)>;
  struct Config {
    std::vector<std::string> devices;  ///< their names, for the log
    Test test;
    /// Between two tests of a device, and before the first one of a broken device.
    std::chrono::milliseconds interval{60'000};
  };
  struct Report {
    std::uint64_t failed_sessions = 0;  ///< that had a device error in the last minute
    bool fatal = false;                 ///< the last self-test had a wrong result or a device error
    std::uint64_t self_tests_ok = 0;    ///< in a row, since the device broke
  };

  /// @param leases outlives this
  DeviceHealth(Leases& leases, Config config);
  /// Waits for a test that runs; the device may delay its end.
  ~DeviceHealth();
  DeviceHealth(const DeviceHealth&) = delete;
  DeviceHealth& operator=(const DeviceHealth&) = delete;

  /// Returns what the next heartbeat tells of a device, and has it tested if that is due.
  Report report(std::size_t device);
  /// Takes what the manager says of a device. One that was broken, and is not any more, begins
  /// anew.
  void set_broken(std::size_t device, bool broken);

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    bool broken = false;
    bool fatal = false;
    std::uint64_t tests_ok = 0;
    std::uint64_t noted = 0;    // errors before the last test that judged the device
    std::uint64_t changes = 0;  // of `broken`
    Clock::time_point last_test = Clock::time_point::min();  // or when it broke
  };

  bool is_due(std::size_t device, Clock::time_point now) const;  // @pre mutex_ is held
  void run();
  SelfTest test(std::size_t device);
  bool gives_up(Clock::time_point began);

  Leases& leases_;
  const Config config_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Watched> watched_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ob::daemon
