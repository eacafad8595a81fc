// Replaces cuda_factories.cpp if the cuda backend is not built.

#include "conformance/device/cuda_factories.hpp"

namespace ob::test {

std::vector<DeviceFactory> cuda_factories() { return {}; }

}  // namespace ob::test
