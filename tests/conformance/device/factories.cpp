#include "conformance/device/factories.hpp"

#include <memory>
#include <utility>

#include "backend/cpu/backend.hpp"
#include "backend/cpu/device.hpp"
#include "backend/cpu/libraries.hpp"
#include "backend/null/backend.hpp"
#include "conformance/device/cuda_factories.hpp"
#include "conformance/device/opencl_factories.hpp"
#include "conformance/device/places.hpp"

namespace ob::test {
namespace {

Result<std::shared_ptr<Device>> cpu_without_r2r(std::uint64_t memory_bytes) {
  auto libraries = std::make_shared<cpu::Libraries>();
  for (const bool single : {false, true}) {
    auto opened = cpu::FftLibrary::open(single);
    if (!opened.ok()) return opened.status();
    const auto library = std::const_pointer_cast<cpu::FftLibrary>(*opened);
    library->plan_r2r = nullptr;
    library->execute_r2r = nullptr;
    libraries->fft[single ? 1 : 0] = library;
  }
  DeviceInfo info;
  info.backend = "cpu";
  info.memory_bytes = memory_bytes;
  return std::shared_ptr<Device>(
      new cpu::CpuDevice(info, libraries, std::make_unique<cpu::LocalRunner>(libraries, 1)));
}

}  // namespace

DeviceFactory device_without_r2r() { return {"cpu_without_r2r", true, cpu_without_r2r}; }

std::vector<DeviceFactory> device_factories() {
  // The second of two devices has its own instance of the library.
  std::vector<DeviceFactory> factories = {here("cpu_1_of_2", true, [](std::uint64_t bytes) {
    return cpu::create({.index = 1, .devices = 2, .memory_bytes = bytes});
  })};
  const auto null_device = [](std::uint64_t bytes) {
    return null::create({.memory_bytes = bytes});
  };
  const auto cpu_device = [](std::uint64_t bytes) { return cpu::create({.memory_bytes = bytes}); };
  for (const auto& more :
       {everywhere("null", false, null_device), everywhere("cpu", true, cpu_device),
        shared_remote("null", false, null_device), shared_remote("cpu", true, cpu_device),
        cuda_factories(), opencl_factories()}) {
    factories.insert(factories.end(), more.begin(), more.end());
  }
  return factories;
}

}  // namespace ob::test
