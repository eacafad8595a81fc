#pragma once
// The devices that a daemon offers, of the backends that it was built with.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::apps {

/// The options of the command line that concern devices.
struct DeviceOptions {
  std::string backend = "cpu";  ///< auto, cpu, cuda, null, opencl
  unsigned devices = 1;
  std::uint64_t memory_bytes = 0;
  std::string device_rate;
  double plan_seconds = 0;
  double longest_command_s = 10;
  std::string isolation = "none";    ///< cpu backend: user, session, none
  std::uint64_t executor_bytes = 0;  ///< as cpu::Config's
  bool kernels = false;  ///< of programs; those of the cpu backend run in processes of their own
  bool kernels_in_process = false;  ///< those of cuda and opencl run, too, in this process
  double longest_kernel_s = 60;
  unsigned fail_allocations = 0;
  unsigned corrupt = 0;
  std::string fail_calls;
};

/// Opens the devices. The log says which backend `auto` means, and why.
/// Errors: unavailable, with the reason, if this machine cannot run the backend; invalid_argument
Result<std::vector<std::unique_ptr<Device>>> make_devices(const DeviceOptions& options);

}  // namespace ob::apps
