#pragma once
// One of NVIDIA's accelerators as a device.

#include <memory>
#include <string>

#include "backend/cuda/fft_plan.hpp"
#include "backend/cuda/queue.hpp"
#include "device/accelerator_device.hpp"

namespace ob::cuda {

/// Computes for one queue at a time, with all of the accelerator; other queues copy meanwhile.
/// Threads: any, as Device
class CudaDevice final : public AcceleratorDevice<CudaQueue, CudaFftPlan> {
 public:
  /// The parts of a device.
  struct Parts {
    std::unique_ptr<Libraries> libraries;
    int ordinal = 0;
    std::unique_ptr<DeviceMemory> memory;
    std::shared_ptr<PinnedPool> pinned;
    std::shared_ptr<EventPool> events;
    std::shared_ptr<const HostRoutines> host;
  };
  /// @param longest_command_s as ComputeTime's
  CudaDevice(DeviceInfo info, Parts parts, double longest_command_s)
      : AcceleratorDevice(std::move(info), *parts.memory, longest_command_s),
        parts_(std::move(parts)) {}
  ~CudaDevice() override { finish(); }
  using AcceleratorDevice::use_kernels;

  Status set_accuracy(QueueId queue, Accuracy accuracy) override;
  /// Returns page-locked memory.
  Result<std::shared_ptr<std::byte>> staging(std::uint64_t size_bytes) override;

 protected:
  Result<std::shared_ptr<HostQueue>> make_queue(const std::string& name,
                                                const Account& account) override;
  Status enter() const override { return gpu().make_current(); }
  Status inspect(CudaQueue& queue, HostCall& call) override;
  Status run(CudaQueue& queue, const HostCall& call) override;
  Result<std::unique_ptr<CudaFftPlan>> make_transform(const FftPlan& plan) const override;
  std::uint64_t transform_host_bytes(const FftPlan& plan) const override;

 private:
  Gpu gpu() const noexcept { return {*parts_.libraries, parts_.ordinal}; }

  const Parts parts_;
};

}  // namespace ob::cuda
