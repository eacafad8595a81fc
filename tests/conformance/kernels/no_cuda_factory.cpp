// Replaces cuda_factory.cpp if the cuda backend is not built.

#include "conformance/kernels/setting.hpp"

namespace ob::test {

std::vector<DeviceFactory> cuda_kernel_factories() { return {}; }

}  // namespace ob::test
