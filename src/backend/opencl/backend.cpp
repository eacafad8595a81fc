#include "backend/opencl/backend.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "backend/opencl/device.hpp"
#include "backend/opencl/kernel_runner.hpp"
#include "base/machine.hpp"
#include "device/kernels/refused_kernels.hpp"

namespace ob::opencl {
namespace {

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

// Returns a part of all memory, because OpenCL does not tell how much is free. The rest is for the
// libraries' own buffers.
std::uint64_t memory_part(const Accelerator& accelerator, const Config& config,
                          std::size_t accelerators) {
  if (config.memory_bytes != 0) return config.memory_bytes;
  const std::size_t before = config.index % accelerators;
  const std::size_t sharers = (config.devices - before + accelerators - 1) / accelerators;
  return accelerator.memory_bytes / 10 * 9 / std::max<std::size_t>(1, sharers);
}

std::string describe_device(const Accelerator& accelerator, const Libraries& libraries) {
  std::string text = accelerator.name;
  const auto blas = libraries.blas();
  text += blas.ok() ? "; CLBlast, VkFFT" : "; VkFFT; " + blas.status().message();
  if (!accelerator.has_fp64) text += "; no double precision";
  return text + "; buffers of at most " + std::to_string(accelerator.largest_buffer_bytes) +
         " bytes";
}

}  // namespace

Result<Found> find() {
  OB_ASSIGN_OR_RETURN(const auto* all, Accelerator::all());
  Found found;
  found.devices = static_cast<unsigned>(all->size());
  found.accelerators = static_cast<unsigned>(
      std::count_if(all->begin(), all->end(), [](const Accelerator& a) { return !a.is_cpu; }));
  return found;
}

Result<std::unique_ptr<Device>> create(const Config& config) {
  OB_RETURN_IF_ERROR(check(config));
  OB_ASSIGN_OR_RETURN(const Cl* cl, Cl::get());
  OB_ASSIGN_OR_RETURN(const auto* all, Accelerator::all());
  const Accelerator& accelerator = (*all)[config.index % all->size()];
  ClDevice::Parts parts{.cl = *cl, .accelerator = accelerator};
  parts.libraries = std::make_unique<Libraries>(*cl, accelerator);
  DeviceInfo info;
  info.backend = "opencl";
  info.description = describe_device(accelerator, *parts.libraries);
  info.memory_bytes = memory_part(accelerator, config, all->size());
  if (accelerator.is_cpu) info.processors = usable_processors();
  OB_ASSIGN_OR_RETURN(std::unique_ptr<ClMemory> source, ClMemory::create(*cl, accelerator));
  parts.source = source.get();
  parts.memory = std::make_unique<DeviceMemory>(std::move(source), info.memory_bytes);
  parts.memory->fail_allocations(config.fail_allocations);
  parts.host = config.host;
  parts.transforms = config.transforms;
  std::shared_ptr<const KernelRunner> kernels = refused_kernels();
  if (config.kernels) {
    kernels = std::make_shared<ClKernelRunner>(*cl, accelerator, *parts.source);
  }
  auto device =
      std::make_unique<ClDevice>(std::move(info), std::move(parts), config.longest_command_s);
  device->use_kernels(std::move(kernels));
  if (config.measure && !accelerator.is_cpu) device->measure();
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace ob::opencl
