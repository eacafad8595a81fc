#include "backend/opencl/device_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/contract.hpp"

namespace ob::opencl {
namespace {

using Way = QueueContext::Way;

constexpr int kMostDimensions = 3;  // the limit for VkFFT here

VkShape shape_of(const FftPlan& plan) {
  VkShape shape;
  shape.kind = plan.kind;
  shape.single = plan.precision == Precision::c;
  shape.sign = plan.kind == FftKind::c2c ? plan.sign : plan.kind == FftKind::r2c ? -1 : 1;
  shape.batch = plan.batch;
  for (std::size_t i = 0; i < plan.rank; ++i) {
    if (plan.n[i] != 1) shape.n[static_cast<std::size_t>(shape.rank++)] = plan.n[i];
  }
  return shape;
}

}  // namespace

bool DevicePlan::takes(const Accelerator& accelerator, const FftPlan& plan) noexcept {
  if (plan.kind == FftKind::r2r) return false;
  if (plan.precision == Precision::z && !accelerator.has_fp64) return false;
  // Numbers that are their own spectrum do not justify a separate kernel.
  if (plan.kind != FftKind::c2c && plan.n[plan.rank - 1U] == 1) return false;
  const auto longer = std::count_if(plan.n.begin(), plan.n.begin() + plan.rank,
                                    [](std::uint64_t n) { return n != 1; });
  return longer <= kMostDimensions;
}

Result<std::unique_ptr<ClFftPlan>> DevicePlan::create(const Accelerator& accelerator,
                                                      DeviceMemory& memory, const FftPlan& plan) {
  OB_EXPECT(takes(accelerator, plan));
  const VkShape shape = shape_of(plan);
  std::unique_ptr<VkTransform> transform;
  if (shape.rank > 0) {
    OB_ASSIGN_OR_RETURN(transform, VkTransform::create(accelerator, memory, shape));
  }
  return std::unique_ptr<ClFftPlan>(new DevicePlan(plan, shape, std::move(transform)));
}

// Describes the copy of rows of real numbers that are packed on one side and padded on the other.
ColumnCopy DevicePlan::rows(std::byte* to, const std::byte* from, bool padded_to) const noexcept {
  const std::uint64_t length = shape_.n[static_cast<std::size_t>(shape_.rank - 1)];
  const std::uint64_t packed = length * shape_.complex_bytes() / 2;
  const std::uint64_t padded = (length / 2 + 1) * shape_.complex_bytes();
  return {.to = to,
          .to_pitch_bytes = padded_to ? padded : packed,
          .from = from,
          .from_pitch_bytes = padded_to ? packed : padded,
          .width_bytes = packed,
          .columns = shape_.bytes() / padded};
}

ColumnCopy DevicePlan::all(std::byte* to, const std::byte* from) const noexcept {
  return {.to = to, .from = from, .width_bytes = shape_.bytes(), .columns = 1};
}

Status DevicePlan::execute(QueueContext& context, std::byte* input, std::byte* output) {
  const CopyColumns move = context.copies(Way::inside);
  const bool packed_input = plan_.kind == FftKind::r2c;
  const bool packed_output = plan_.kind == FftKind::c2r;
  const bool aligned = reinterpret_cast<std::uintptr_t>(output) % shape_.complex_bytes() == 0;
  // The transform runs in the output, unless the output is too small, overlaps rows that are still
  // to be padded, or does not begin at a whole element as VkFFT counts them.
  std::byte* array = output;
  if (packed_output || (packed_input && plan_.in_place) || !aligned) {
    OB_ASSIGN_OR_RETURN(array, context.work.device_bytes(shape_.bytes()));
  }
  if (packed_input) {
    OB_RETURN_IF_ERROR(move(rows(array, input, true)));
  } else if (array != input) {
    OB_RETURN_IF_ERROR(move(all(array, input)));
  }
  if (transform_ != nullptr) {
    OB_ASSIGN_OR_RETURN(const std::byte* work, context.work.device_bytes(std::max<std::uint64_t>(
                                                   1, transform_->work_bytes())));
    OB_RETURN_IF_ERROR(
        transform_->run(context.queue, context.memory.place(array), context.memory.place(work)));
  }
  if (packed_output) return move(rows(output, array, false));
  return array == output ? Status() : move(all(output, array));
}

}  // namespace ob::opencl
