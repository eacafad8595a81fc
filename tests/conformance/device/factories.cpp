#include "conformance/device/factories.hpp"

#include <utility>

#include "backend/cpu/backend.hpp"
#include "backend/cpu/device.hpp"
#include "backend/null/backend.hpp"
#include "conformance/device/cuda_factories.hpp"
#include "conformance/device/opencl_factories.hpp"
#include "conformance/device/reached.hpp"

namespace ob::test {
namespace {

using Made = Result<std::shared_ptr<Device>>;

Made shared(Result<std::unique_ptr<Device>> made) {
  if (!made.ok()) return made.status();
  return std::shared_ptr<Device>(std::move(made).value());
}

Made local_null(std::uint64_t memory_bytes) {
  return shared(null::create({.memory_bytes = memory_bytes}));
}

Made cpu_device(std::uint64_t memory_bytes) {
  return shared(cpu::create({.memory_bytes = memory_bytes}));
}

// The second of two devices has a library instance of its own.
Made second_cpu_device(std::uint64_t memory_bytes) {
  return shared(cpu::create({.index = 1, .devices = 2, .memory_bytes = memory_bytes}));
}

template <Transport transport>
Made remote_null(std::uint64_t memory_bytes) {
  return reached(
      transport, [](std::uint64_t bytes) { return null::create({.memory_bytes = bytes}); },
      memory_bytes);
}

template <Transport transport>
Made remote_cpu(std::uint64_t memory_bytes) {
  return reached(
      transport, [](std::uint64_t bytes) { return cpu::create({.memory_bytes = bytes}); },
      memory_bytes);
}

Made cpu_without_r2r(std::uint64_t memory_bytes) {
  cpu::CpuDevice::Libraries libraries;
  for (const bool single : {false, true}) {
    auto opened = cpu::FftLibrary::open(single);
    if (!opened.ok()) return opened.status();
    const auto library = std::const_pointer_cast<cpu::FftLibrary>(*opened);
    library->plan_r2r = nullptr;
    library->execute_r2r = nullptr;
    libraries.fft[single ? 1 : 0] = library;
  }
  DeviceInfo info;
  info.backend = "cpu";
  info.memory_bytes = memory_bytes;
  return std::shared_ptr<Device>(new cpu::CpuDevice(info, std::move(libraries), 1));
}

}  // namespace

DeviceFactory device_without_r2r() { return {"cpu_without_r2r", true, cpu_without_r2r}; }

std::vector<DeviceFactory> device_factories() {
  std::vector<DeviceFactory> factories = {
      {"null", false, local_null},
      {"cpu", true, cpu_device},
      {"cpu_1_of_2", true, second_cpu_device},
      {"null_over_tcp", false, remote_null<Transport::tcp>, false},
      {"null_over_shm", false, remote_null<Transport::shm>, false},
      {"cpu_over_tcp", true, remote_cpu<Transport::tcp>, false},
      {"cpu_over_shm", true, remote_cpu<Transport::shm>, false},
  };
  for (const auto& more : {cuda_factories(), opencl_factories()}) {
    factories.insert(factories.end(), more.begin(), more.end());
  }
  return factories;
}

}  // namespace ob::test
