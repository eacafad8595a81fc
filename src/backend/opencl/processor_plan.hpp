#pragma once
// Runs transforms of arrays that lie on a device on the processor.

#include <memory>

#include "backend/opencl/fft_plan.hpp"
#include "device/host_transforms.hpp"

namespace ob::opencl {

class ProcessorPlan final : public ClFftPlan {
 public:
  /// Errors: unsupported without a library of the host; out_of_memory
  static Result<std::unique_ptr<ClFftPlan>> create(const HostTransforms* host, const FftPlan& plan);

  /// Copies the arrays to host memory, transforms them there and copies them back. Waits for all of
  /// this.
  Status execute(QueueContext& context, std::byte* input, std::byte* output) override;

 private:
  ProcessorPlan(const FftPlan& shape, std::unique_ptr<HostPlan> plan)
      : shape_(shape), plan_(std::move(plan)) {}

  const FftPlan shape_;
  const std::unique_ptr<HostPlan> plan_;
};

}  // namespace ob::opencl
