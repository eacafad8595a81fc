#include "backend/cuda/device.hpp"

#include <utility>

#include "backend/cuda/indices.hpp"
#include "backend/cuda/make_plan.hpp"
#include "backend/cuda/routines.hpp"

namespace ob::cuda {

Result<std::shared_ptr<HostQueue>> CudaDevice::make_queue(const std::string& name,
                                                          const Account& account) {
  OB_ASSIGN_OR_RETURN(auto queue, CudaQueue::create({gpu(), *parts_.memory, *parts_.pinned,
                                                     parts_.events, parts_.host.get()},
                                                    name, account));
  return std::shared_ptr<HostQueue>(std::move(queue));
}

Status CudaDevice::set_accuracy(QueueId id, Accuracy accuracy) {
  const auto queue = find(id);
  if (queue == nullptr) return no_such_queue(id);
  queue->set_accuracy(accuracy);
  return {};
}

Result<std::shared_ptr<std::byte>> CudaDevice::staging(std::uint64_t size_bytes) {
  OB_RETURN_IF_ERROR(gpu().make_current());
  OB_ASSIGN_OR_RETURN(PinnedBlock block, parts_.pinned->take(size_bytes));
  struct Held {
    std::shared_ptr<PinnedPool> pool;  // destroyed after its block
    PinnedBlock block;
  };
  const auto held = std::make_shared<Held>(Held{parts_.pinned, std::move(block)});
  return std::shared_ptr<std::byte>(held, held->block.data());
}

Status CudaDevice::inspect(CudaQueue& queue, HostCall& call) {
  return check_indices(queue.context(), call);
}

Status CudaDevice::run(CudaQueue& queue, const HostCall& call) {
  return Routines::run(queue.context(), *call.routine, call.arguments);
}

Result<std::unique_ptr<CudaFftPlan>> CudaDevice::make_transform(const FftPlan& plan) const {
  return make_fft_plan(*parts_.libraries, plan);
}

std::uint64_t CudaDevice::transform_host_bytes(const FftPlan& plan) const {
  return fft_plan_host_bytes(plan);
}

}  // namespace ob::cuda
