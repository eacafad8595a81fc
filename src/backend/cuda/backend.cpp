#include "backend/cuda/backend.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "backend/cuda/blas_call.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/kernel_runner.hpp"
#include "backend/cuda/memory_source.hpp"
#include "device/kernels/refused_kernels.hpp"

namespace ob::cuda {
namespace {

// Limit of idle page-locked memory, for all queues together.
constexpr std::uint64_t kPinnedIdleBytes = std::uint64_t{256} << 20;

Result<unsigned> count(const Runtime& cuda) {
  int devices = 0;
  const Status status = cuda.check(cuda.cudaGetDeviceCount(&devices), "cannot use CUDA");
  if (status.ok() && devices > 0) return static_cast<unsigned>(devices);
  if (status.ok()) return Status(Code::unavailable, "no accelerator of NVIDIA's is visible here");
  return Status(Code::unavailable, status.message() +
                                       "; is NVIDIA's driver installed, and new enough for CUDA " +
                                       std::to_string(CUDART_VERSION / 1000) + "?");
}

// Converts 13000 to "13.0".
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string describe(const Libraries& libraries, int ordinal) {
  const Runtime& cuda = libraries.runtime();
  std::string text = "device " + std::to_string(ordinal);
  if (const auto driver = libraries.driver(); driver.ok()) {
    char name[256] = {};
    CUdevice device = 0;
    if ((*driver)->cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
        (*driver)->cuDeviceGetName(name, sizeof name - 1, device) == CUDA_SUCCESS) {
      text = name;
    }
  }
  int runtime_version = 0;
  int driver_version = 0;
  (void)cuda.cudaRuntimeGetVersion(&runtime_version);
  (void)cuda.cudaDriverGetVersion(&driver_version);
  return text + "; CUDA " + version_text(runtime_version) + ", driver for " +
         version_text(driver_version);
}

Status check(const Config& config) {
  if (config.devices == 0 || config.index >= config.devices) {
    return {Code::invalid_argument, "no device " + std::to_string(config.index) + " among " +
                                        std::to_string(config.devices)};
  }
  if (!std::isfinite(config.longest_command_s) || config.longest_command_s < 0) {
    return {Code::invalid_argument, "the time of the longest command must be a number"};
  }
  return {};
}

// Returns a part of the free memory; the rest is for the libraries' workspaces and other programs.
Result<std::uint64_t> memory_part(const Gpu& gpu, const Config& config, unsigned accelerators) {
  if (config.memory_bytes != 0) return config.memory_bytes;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  OB_RETURN_IF_ERROR(gpu.runtime().check(gpu.runtime().cudaMemGetInfo(&free_bytes, &total_bytes),
                                         "asking for the device's memory"));
  const unsigned sharers =
      (config.devices - static_cast<unsigned>(gpu.ordinal) + accelerators - 1) / accelerators;
  // Earlier devices on the same accelerator have not taken their memory yet, because they allocate
  // it on demand.
  return std::uint64_t{free_bytes} / 10 * 9 / std::max(1u, sharers);
}

}  // namespace

Result<unsigned> accelerators() {
  OB_ASSIGN_OR_RETURN(const auto libraries, Libraries::open());
  return count(libraries->runtime());
}

Result<std::unique_ptr<Device>> create(const Config& config) {
  OB_RETURN_IF_ERROR(check(config));
  CudaDevice::Parts parts;
  OB_ASSIGN_OR_RETURN(parts.libraries, Libraries::open());
  const Runtime& cuda = parts.libraries->runtime();
  OB_ASSIGN_OR_RETURN(const unsigned accelerators, count(cuda));
  parts.ordinal = static_cast<int>(config.index % accelerators);
  const Gpu gpu{*parts.libraries, parts.ordinal};
  OB_RETURN_IF_ERROR(gpu.make_current());
  // Waiting threads sleep, because the network needs the cores. A device in use keeps its flags.
  (void)cuda.cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  (void)cuda.cudaGetLastError();
  DeviceInfo info;
  info.backend = "cuda";
  info.description = describe(*parts.libraries, parts.ordinal);
  info.accuracies = accuracies_of_blas();
  OB_ASSIGN_OR_RETURN(info.memory_bytes, memory_part(gpu, config, accelerators));
  OB_ASSIGN_OR_RETURN(std::unique_ptr<MemorySource> source, CudaMemorySource::create(gpu));
  parts.memory = std::make_unique<DeviceMemory>(std::move(source), info.memory_bytes);
  parts.memory->fail_allocations(config.fail_allocations);
  parts.pinned = std::make_shared<PinnedPool>(cuda, kPinnedIdleBytes);
  parts.events = EventPool::create(gpu);
  parts.host = config.host;
  auto device =
      std::make_unique<CudaDevice>(std::move(info), std::move(parts), config.longest_command_s);
  device->use_kernels(config.kernels ? std::make_shared<CudaKernelRunner>(gpu) : refused_kernels());
  if (config.measure) device->measure();
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace ob::cuda
