#include "conformance/device/opencl_factories.hpp"

#include <utility>

#include "backend/cpu/host_routines.hpp"
#include "backend/cpu/host_transforms.hpp"
#include "backend/opencl/backend.hpp"
#include "conformance/device/reached.hpp"

namespace ob::test {
namespace {

// One library for all devices: opening takes longer than most tests.
std::shared_ptr<const HostRoutines> host_routines() {
  static const auto opened = [] {
    auto made = cpu::open_host_routines(1);
    return made.ok() ? std::shared_ptr<const HostRoutines>(std::move(made).value()) : nullptr;
  }();
  return opened;
}

Result<std::unique_ptr<Device>> opencl_device(std::uint64_t memory_bytes) {
  return opencl::create({.memory_bytes = memory_bytes,
                         .measure = false,
                         .host = host_routines(),
                         .transforms = cpu::open_host_transforms(1)});
}

Result<std::shared_ptr<Device>> local_opencl(std::uint64_t memory_bytes) {
  auto made = opencl_device(memory_bytes);
  if (!made.ok()) return made.status();
  return std::shared_ptr<Device>(std::move(made).value());
}

template <Transport transport>
Result<std::shared_ptr<Device>> remote_opencl(std::uint64_t memory_bytes) {
  return reached(transport, opencl_device, memory_bytes);
}

}  // namespace

std::vector<DeviceFactory> opencl_factories() {
  return {{"opencl", true, local_opencl},
          {"opencl_over_tcp", true, remote_opencl<Transport::tcp>, false},
          {"opencl_over_shm", true, remote_opencl<Transport::shm>, false}};
}

}  // namespace ob::test
