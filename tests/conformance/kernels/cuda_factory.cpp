#include "backend/cuda/backend.hpp"
#include "conformance/kernels/setting.hpp"

namespace ob::test {

std::vector<DeviceFactory> cuda_kernel_factories() {
  const auto device = [](std::uint64_t bytes) -> Result<std::shared_ptr<Device>> {
    OB_ASSIGN_OR_RETURN(
        auto made,
        cuda::create({.memory_bytes = bytes, .measure = false, .kernels = true, .host = nullptr}));
    return std::shared_ptr<Device>(std::move(made));
  };
  return {{"cuda", true, device}};
}

}  // namespace ob::test
