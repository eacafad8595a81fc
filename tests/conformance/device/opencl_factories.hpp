#pragma once
// Whatever OpenCL finds here (a CPU by PoCL, say) as devices of the suite.

#include <vector>

#include "conformance/device/factories.hpp"

namespace ob::test {

/// None if the opencl backend is not built. Where OpenCL finds no device, creating one is
/// `unavailable`.
std::vector<DeviceFactory> opencl_factories();

}  // namespace ob::test
