#pragma once
// Complex and half-complex transforms by VkFFT.

#include <memory>

#include "backend/opencl/fft_plan.hpp"
#include "backend/opencl/vkfft.hpp"

namespace ob::opencl {

/// A transform runs in place, in the output if possible. The rows of real numbers of VkFFT are
/// padded to the size of a packed spectrum, and its inverse transform overwrites its input.
/// Dimensions of length 1 are left out.
class DevicePlan final : public ClFftPlan {
 public:
  static bool takes(const Accelerator& accelerator, const FftPlan& plan) noexcept;
  /// Makes the plan.   Errors: as VkTransform::create
  /// @pre takes(accelerator, plan)
  static Result<std::unique_ptr<ClFftPlan>> create(const Accelerator& accelerator,
                                                   DeviceMemory& memory, const FftPlan& plan);

  Status execute(QueueContext& context, std::byte* input, std::byte* output) override;

 private:
  DevicePlan(const FftPlan& plan, const VkShape& shape, std::unique_ptr<VkTransform> transform)
      : plan_(plan), shape_(shape), transform_(std::move(transform)) {}
  ColumnCopy rows(std::byte* to, const std::byte* from, bool padded_to) const noexcept;
  ColumnCopy all(std::byte* to, const std::byte* from) const noexcept;

  const FftPlan plan_;
  const VkShape shape_;
  const std::unique_ptr<VkTransform> transform_;  // nullptr: the plan only copies
};

}  // namespace ob::opencl
