#pragma once
// Accelerators of NVIDIA's, or the stand-in for them (tests/standin_cuda), as devices of the suite.

#include <vector>

#include "conformance/device/factories.hpp"

namespace ob::test {

/// None if the cuda backend is not built. Where its libraries are not found, creating one is
/// `unavailable`.
std::vector<DeviceFactory> cuda_factories();

}  // namespace ob::test
