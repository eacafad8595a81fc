#include "backend/cpu/backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "backend/cpu/cores.hpp"
#include "backend/cpu/device.hpp"
#include "backend/cpu/executor_requests.hpp"
#include "backend/cpu/isolated_kernels.hpp"
#include "backend/cpu/isolated_runner.hpp"
#include "backend/cpu/libraries.hpp"
#include "base/machine.hpp"

namespace ob::cpu {
namespace {

// The buffer and the stack of a thread of OpenBLAS 0.3.21 (32 MiB and 8 MiB), and as much again for
// other libraries. Without them a library cannot compute at all.
constexpr std::uint64_t kLibraryBytes = std::uint64_t{64} << 20;

unsigned thread_count(const Config& config) {
  if (config.threads != 0) return config.threads;
  if (const char* wanted = std::getenv("OPENBLAS_NUM_THREADS");
      wanted != nullptr && config.devices == 1) {
    if (const long number = std::strtol(wanted, nullptr, 10); number >= 1 && number <= 1024) {
      return static_cast<unsigned>(number);
    }
  }
  return std::max(1u, usable_cores() / config.devices);
}

// Returns the limit of the private memory of an executor.
std::uint64_t private_bytes(const Config& config, unsigned threads, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 30;
  const std::uint64_t counted_bytes =
      config.executor_bytes != 0 ? config.executor_bytes : std::max(kLeastBytes, memory_bytes);
  return std::min(counted_bytes, UINT64_MAX / 2) + kLibraryBytes * (threads + 1);
}

std::shared_ptr<const KernelRunner> isolated_kernels(const Config& config, unsigned threads,
                                                     std::uint64_t memory_bytes) {
  executor::Program program{
      config.executor,
      {std::to_string(threads), std::to_string(memory_bytes), std::string(kKernelArgument)},
      true};
  return std::make_shared<IsolatedKernels>(std::move(program));
}

Result<std::unique_ptr<CallRunner>> make_runner(const Config& config,
                                                std::shared_ptr<const Libraries> libraries,
                                                unsigned threads, std::uint64_t memory_bytes) {
  if (config.isolation == Isolation::none) {
    return std::unique_ptr<CallRunner>(
        std::make_unique<LocalRunner>(std::move(libraries), threads));
  }
  executor::Program program{
      config.executor,
      {std::to_string(threads), std::to_string(private_bytes(config, threads, memory_bytes))}};
  auto runner =
      std::make_unique<IsolatedRunner>(config.isolation, std::move(program), std::move(libraries));
  OB_RETURN_IF_ERROR(runner->await_ready());
  return std::unique_ptr<CallRunner>(std::move(runner));
}

// Nobody waits longer for the call of somebody else in another process.
constexpr std::chrono::seconds kExclusiveTime{1};

FairTurns::Overlap overlap_of(Isolation isolation) {
  if (isolation == Isolation::none) return {};
  return {.after = kExclusiveTime, .between_sessions = isolation == Isolation::session};
}

}  // namespace

Result<std::unique_ptr<Device>> create(const Config& config) {
  if (config.devices == 0 || config.index >= config.devices) {
    return Status(Code::invalid_argument, "no device " + std::to_string(config.index) + " among " +
                                              std::to_string(config.devices));
  }
  if (!std::isfinite(config.longest_command_s) || config.longest_command_s < 0) {
    return Status(Code::invalid_argument, "the time of the longest command must be a number");
  }
  const unsigned threads = thread_count(config);
  std::shared_ptr<const Libraries> libraries = Libraries::open(config.index > 0, threads);
  DeviceInfo info;
  info.backend = "cpu";
  info.description = libraries->description();
  info.processors = usable_processors();
  info.memory_bytes =
      config.memory_bytes != 0 ? config.memory_bytes : share_of_host_memory(config.devices);
  info.isolated = config.isolation != Isolation::none;
  if (libraries->blas != nullptr) {
    info.gflops_double =
        config.gflops_double > 0 ? config.gflops_double : libraries->blas->measure_gflops();
  }
  OB_ASSIGN_OR_RETURN(auto runner, make_runner(config, libraries, threads, info.memory_bytes));
  auto device =
      std::make_unique<CpuDevice>(std::move(info), std::move(libraries), std::move(runner),
                                  config.longest_command_s, overlap_of(config.isolation));
  device->limit_segments(SegmentBudget::share_of_process(config.devices));
  device->fail_allocations(config.fail_allocations);
  device->corrupt(config.corrupt);
  device->fail_calls(config.fail_calls);
  device->limit_kernels(config.longest_kernel_s);
  std::shared_ptr<const KernelRunner> kernels = config.kernels;
  if (config.isolated_kernels)
    kernels = isolated_kernels(config, threads,
                               private_bytes(config, threads, device->info().memory_bytes));
  device->use_kernels(std::move(kernels));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace ob::cpu
