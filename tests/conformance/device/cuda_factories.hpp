#pragma once
// Devices of the suite on NVIDIA's accelerators, or on their stand-in (tests/standin_cuda).

#include <vector>

#include "conformance/device/factories.hpp"

namespace ob::test {

/// Returns none if the cuda backend is not built. If its libraries are not found, creating a device
/// is `unavailable`.
std::vector<DeviceFactory> cuda_factories();

}  // namespace ob::test
