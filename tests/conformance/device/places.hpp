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

/// What the processor can do for an accelerator's backend. One library for all devices: opening
/// takes longer than most tests.
std::shared_ptr<const HostRoutines> host_routines();

}  // namespace ob::test
