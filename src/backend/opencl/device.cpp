#include "backend/opencl/device.hpp"

#include <utility>

#include "backend/opencl/make_plan.hpp"
#include "backend/opencl/routines.hpp"

namespace ob::opencl {

Result<std::shared_ptr<HostQueue>> ClDevice::make_queue(const std::string& name,
                                                        const Account& account) {
  OB_ASSIGN_OR_RETURN(
      auto queue, ClQueue::create({parts_.cl, parts_.accelerator, *parts_.source, *parts_.memory,
                                   *parts_.libraries, parts_.host.get()},
                                  name, account));
  return std::shared_ptr<HostQueue>(std::move(queue));
}

Status ClDevice::run(ClQueue& queue, const HostCall& call) {
  return run_routine(queue.context(), *call.routine, call.arguments);
}

Result<std::unique_ptr<ClFftPlan>> ClDevice::make_transform(const FftPlan& plan) const {
  return make_fft_plan(parts_.accelerator, *parts_.memory, parts_.transforms.get(), plan);
}

std::uint64_t ClDevice::transform_host_bytes(const FftPlan& plan) const {
  return fft_plan_host_bytes(parts_.transforms.get(), plan);
}

}  // namespace ob::opencl
