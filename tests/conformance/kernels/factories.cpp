#include <utility>

#include "backend/cpu/backend.hpp"
#include "backend/cpu/host_transforms.hpp"
#include "backend/opencl/backend.hpp"
#include "backend/opencl/host_kernels.hpp"
#include "client/shared_device.hpp"
#include "conformance/kernels/setting.hpp"
#include "support/in_process_daemon.hpp"

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

// Kernels in a process for each session.
Result<std::unique_ptr<Device>> isolated(std::uint64_t bytes) {
  return cpu::create({.memory_bytes = bytes,
                      .executor = OUTBOARD_EXECUTOR,
                      .gflops_double = 10,
                      .isolated_kernels = true});
}

// A daemon in this process, and a client's device that is connected to it.
struct Reached {
  std::unique_ptr<InProcessDaemon> daemon;
  std::unique_ptr<client::SharedDevice> device;
};

Result<std::shared_ptr<Device>> behind(Transport transport, std::uint64_t bytes) {
  OB_ASSIGN_OR_RETURN(std::unique_ptr<Device> inner, isolated(bytes));
  daemon::ServerConfig config;
  config.kernels.without_key = daemon::KernelRights::native;
  auto both = std::make_shared<Reached>();
  both->daemon = std::make_unique<InProcessDaemon>(transport, one(std::move(inner)), config);
  OB_ASSIGN_OR_RETURN(both->device,
                      client::SharedDevice::open(both->daemon->address(), {.wants_kernels = true}));
  if (const Status kernels = both->device->runs_kernels(); !kernels.ok()) {
    return Status(Code::unavailable, kernels.message());
  }
  return std::shared_ptr<Device>(both, both->device.get());
}

}  // namespace

std::vector<DeviceFactory> kernel_factories() {
  const auto cpu_device = [](std::uint64_t bytes) {
    return usable(cpu::create(
        {.memory_bytes = bytes, .gflops_double = 10, .kernels = opencl::make_host_kernels()}));
  };
  const auto opencl_device = [](std::uint64_t bytes) {
    return usable(opencl::create({.memory_bytes = bytes,
                                  .measure = false,
                                  .kernels = true,
                                  .host = nullptr,
                                  .transforms = nullptr}));
  };
  const auto isolated_device = [](std::uint64_t bytes) { return usable(isolated(bytes)); };
  const auto over_shm = [](std::uint64_t bytes) { return behind(Transport::shm, bytes); };
  const auto over_tcp = [](std::uint64_t bytes) { return behind(Transport::tcp, bytes); };
  std::vector<DeviceFactory> all{{"cpu", true, cpu_device},
                                 {"cpu_isolated", true, isolated_device},
                                 {"cpu_over_shm", true, over_shm},
                                 {"cpu_over_tcp", true, over_tcp},
                                 {"opencl", true, opencl_device}};
  for (DeviceFactory& factory : cuda_kernel_factories()) all.push_back(std::move(factory));
  return all;
}

}  // namespace ob::test
