// Replaces opencl_factories.cpp if the opencl backend is not built.

#include "conformance/device/opencl_factories.hpp"

namespace ob::test {

std::vector<DeviceFactory> opencl_factories() { return {}; }

}  // namespace ob::test
