#include "conformance/device/cuda_factories.hpp"

#include <utility>

#include "backend/cpu/host_routines.hpp"
#include "backend/cuda/backend.hpp"
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

Result<std::unique_ptr<Device>> cuda_device(std::uint64_t memory_bytes) {
  return cuda::create({.memory_bytes = memory_bytes, .measure = false, .host = host_routines()});
}

Result<std::shared_ptr<Device>> local_cuda(std::uint64_t memory_bytes) {
  auto made = cuda_device(memory_bytes);
  if (!made.ok()) return made.status();
  return std::shared_ptr<Device>(std::move(made).value());
}

template <Transport transport>
Result<std::shared_ptr<Device>> remote_cuda(std::uint64_t memory_bytes) {
  return reached(transport, cuda_device, memory_bytes);
}

}  // namespace

std::vector<DeviceFactory> cuda_factories() {
  return {{"cuda", true, local_cuda},
          {"cuda_over_tcp", true, remote_cuda<Transport::tcp>, false},
          {"cuda_over_shm", true, remote_cuda<Transport::shm>, false}};
}

}  // namespace ob::test
