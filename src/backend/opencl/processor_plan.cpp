#include "backend/opencl/processor_plan.hpp"

#include <algorithm>
#include <utility>

namespace ob::opencl {

using Way = QueueContext::Way;

Result<std::unique_ptr<ClFftPlan>> ProcessorPlan::create(const HostTransforms* host,
                                                         const FftPlan& plan) {
  if (host == nullptr) {
    return Status(Code::unsupported,
                  "this device has no library for such a transform, and this machine no FFTW; "
                  "install the Debian packages libfftw3-double3 and libfftw3-single3");
  }
  OB_ASSIGN_OR_RETURN(std::unique_ptr<HostPlan> made, host->plan(plan));
  return std::unique_ptr<ClFftPlan>(new ProcessorPlan(plan, std::move(made)));
}

Status ProcessorPlan::execute(QueueContext& context, std::byte* input, std::byte* output) {
  const std::uint64_t in = input_bytes(shape_);
  const std::uint64_t out = output_bytes(shape_);
  OB_ASSIGN_OR_RETURN(const HostBlock from,
                      HostBlock::allocate(shape_.in_place ? std::max(in, out) : in));
  HostBlock apart;
  if (!shape_.in_place) {
    OB_ASSIGN_OR_RETURN(apart, HostBlock::allocate(out));
  }
  std::byte* const to = shape_.in_place ? from.data.get() : apart.data.get();
  const Status down = context.copies(Way::to_host)(
      {.to = from.data.get(), .from = input, .width_bytes = in, .columns = 1});
  const Status arrived = context.synchronize();
  OB_RETURN_IF_ERROR(down);
  OB_RETURN_IF_ERROR(arrived);
  OB_RETURN_IF_ERROR(plan_->execute(from.data.get(), to));
  const Status up =
      context.copies(Way::to_device)({.to = output, .from = to, .width_bytes = out, .columns = 1});
  const Status waited = context.synchronize();  // the last copy still uses the blocks
  return up.ok() ? waited : up;
}

}  // namespace ob::opencl
