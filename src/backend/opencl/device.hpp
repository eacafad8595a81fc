#pragma once
// One of OpenCL's devices as a device.

#include <memory>
#include <string>

#include "backend/opencl/fft_plan.hpp"
#include "backend/opencl/queue.hpp"
#include "device/accelerator_device.hpp"
#include "device/host_transforms.hpp"

namespace ob::opencl {

/// Runs one computation at a time, with all of the accelerator; other queues copy meanwhile.
/// Threads: any, as Device
class ClDevice final : public AcceleratorDevice<ClQueue, ClFftPlan> {
 public:
  /// The parts of a device.
  struct Parts {
    const Cl& cl;
    const Accelerator& accelerator;
    std::unique_ptr<Libraries> libraries = {};
    const ClMemory* source = nullptr;  ///< the source of `memory`
    std::unique_ptr<DeviceMemory> memory = {};
    std::shared_ptr<const HostRoutines> host = {};
    std::shared_ptr<const HostTransforms> transforms = {};
  };
  /// @param longest_command_s as ComputeTime's
  ClDevice(DeviceInfo info, Parts parts, double longest_command_s)
      : AcceleratorDevice(std::move(info), *parts.memory, longest_command_s),
        parts_(std::move(parts)) {}
  ~ClDevice() override { finish(); }
  using AcceleratorDevice::use_kernels;

 protected:
  Result<std::shared_ptr<HostQueue>> make_queue(const std::string& name,
                                                const Account& account) override;
  Status run(ClQueue& queue, const HostCall& call) override;
  Result<std::unique_ptr<ClFftPlan>> make_transform(const FftPlan& plan) const override;
  std::uint64_t transform_host_bytes(const FftPlan& plan) const override;

 private:
  const Parts parts_;
};

}  // namespace ob::opencl
