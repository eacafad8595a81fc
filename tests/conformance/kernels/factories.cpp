#include <utility>

#include "backend/cpu/backend.hpp"
#include "backend/cpu/host_transforms.hpp"
#include "backend/opencl/backend.hpp"
#include "backend/opencl/host_kernels.hpp"
#include "conformance/kernels/setting.hpp"

namespace ob::test {
namespace {

// A device that cannot run kernels, because PoCL is missing, is not there for this suite.
Result<std::shared_ptr<Device>> usable(Result<std::unique_ptr<Device>> made) {
  if (!made.ok()) return made.status();
  std::shared_ptr<Device> device = std::move(made).value();
  if (const Status kernels = device->runs_kernels(); !kernels.ok()) {
    return Status(Code::unavailable, kernels.message());
  }
  return device;
}

}  // namespace

std::vector<DeviceFactory> kernel_factories() {
  const auto cpu_device = [](std::uint64_t bytes) {
    return usable(cpu::create(
        {.memory_bytes = bytes, .gflops_double = 10, .kernels = opencl::make_host_kernels()}));
  };
  const auto opencl_device = [](std::uint64_t bytes) {
    return usable(opencl::create(
        {.memory_bytes = bytes, .measure = false, .host = nullptr, .transforms = nullptr}));
  };
  std::vector<DeviceFactory> all{{"cpu", true, cpu_device}, {"opencl", true, opencl_device}};
  for (DeviceFactory& factory : cuda_kernel_factories()) all.push_back(std::move(factory));
  return all;
}

}  // namespace ob::test
