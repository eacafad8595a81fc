#pragma once
// The places from which the suite uses a backend's devices.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/device/factories.hpp"
#include "device/host_routines.hpp"

namespace ob::test {

/// Makes a device with a limit of memory_bytes.
using MakeDevice = std::function<Result<std::unique_ptr<Device>>(std::uint64_t memory_bytes)>;

/// Makes a factory of devices in this process.
DeviceFactory here(const std::string& name, bool computes, const MakeDevice& make);

/// Makes factories of devices in this process, and of remote ones for each transport.
std::vector<DeviceFactory> everywhere(const std::string& name, bool computes,
                                      const MakeDevice& make);

/// Makes factories of remote devices that several threads may use, for each transport.
std::vector<DeviceFactory> shared_remote(const std::string& name, bool computes,
                                         const MakeDevice& make);

/// Returns the processor's routines for the backend of an accelerator. All devices share one
/// library, because opening it takes longer than most tests.
std::shared_ptr<const HostRoutines> host_routines();

}  // namespace ob::test
