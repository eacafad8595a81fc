#pragma once
// Devices of the suite for all devices that OpenCL finds here (for example a CPU through PoCL).

#include <vector>

#include "conformance/device/factories.hpp"

namespace ob::test {

/// Returns none if the opencl backend is not built. If OpenCL finds no device, creating one is
/// `unavailable`.
std::vector<DeviceFactory> opencl_factories();

}  // namespace ob::test
