#pragma once
// A backend's devices in the places from which the suite uses them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/device/factories.hpp"
#include "device/host_routines.hpp"

namespace ob::test {

/// Makes a device with a cap of memory_bytes.
using MakeDevice = std::function<Result<std::unique_ptr<Device>>(std::uint64_t memory_bytes)>;

/// In this process.
DeviceFactory here(const std::string& name, bool computes, const MakeDevice& make);

/// In this process, and behind a daemon for each transport.
std::vector<DeviceFactory> everywhere(const std::string& name, bool computes,
                                      const MakeDevice& make);

/// The processor's routines for the backend of an accelerator. All devices share one library,
/// because opening it takes longer than most tests.
std::shared_ptr<const HostRoutines> host_routines();

}  // namespace ob::test
