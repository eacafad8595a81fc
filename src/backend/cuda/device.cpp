#include "backend/cuda/device.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "backend/cuda/indices.hpp"
#include "backend/cuda/routines.hpp"
#include "base/chunks.hpp"
#include "device/region_checks.hpp"

namespace ob::cuda {
namespace {

Status no_such_plan(PlanId id) {
  return {Code::invalid_argument, "plan " + std::to_string(id.value) + " does not exist"};
}

}  // namespace

CudaDevice::CudaDevice(DeviceInfo info, Parts parts, double longest_command_s)
    : info_(std::move(info)),
      parts_(std::move(parts)),
      time_(longest_command_s),
      planner_(info_.memory_bytes) {}

CudaDevice::~CudaDevice() {
  finish_queues();
  planner_.finish();
  (void)gpu().make_current();  // for the plans
}

std::shared_ptr<CudaQueue> CudaDevice::find(QueueId id) const {
  return std::static_pointer_cast<CudaQueue>(find_queue(id));  // make_queue() makes no others
}

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

// --- memory --------------------------------------------------------------------------------------

Result<BufferId> CudaDevice::allocate(std::uint64_t size_bytes) {
  return parts_.memory->allocate(size_bytes);
}

Status CudaDevice::free(BufferId buffer) { return parts_.memory->free(buffer); }

Result<SegmentView> CudaDevice::segment(BufferId /*buffer*/) {
  return Status(Code::unsupported, "buffers of this device do not lie in memory files");
}

Result<std::shared_ptr<std::byte>> CudaDevice::staging(std::uint64_t size_bytes) {
  OB_RETURN_IF_ERROR(gpu().make_current());
  OB_ASSIGN_OR_RETURN(PinnedBlock block, parts_.pinned->take(size_bytes));
  struct Held {
    std::shared_ptr<PinnedPool> pool;  // goes after its block
    PinnedBlock block;
  };
  const auto held = std::make_shared<Held>(Held{parts_.pinned, std::move(block)});
  return std::shared_ptr<std::byte>(held, held->block.data());
}

Status CudaDevice::write(QueueId queue_id, BufferId id, const Region& region,
                         const Layout& source) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = parts_.memory->held(id);
  Status status = check_region("write", id, buffer, region);
  if (status.ok()) status = check_sizes("write", source.total_bytes(), packed_bytes(region));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const bool quick = queue->copies().reachable(source);
  queue->submit_work(quick,
                     [region, source, buffer = std::move(buffer)](CudaQueue& on, QueueReport&) {
                       return on.copies().upload(Layout::matrix(buffer.data, region), source);
                     });
  return {};
}

Status CudaDevice::read(QueueId queue_id, BufferId id, const Region& region,
                        const Layout& destination) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = parts_.memory->held(id);
  Status status = check_region("read", id, buffer, region);
  if (status.ok()) status = check_sizes("read", packed_bytes(region), destination.total_bytes());
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const bool quick = queue->copies().reachable(destination);
  queue->submit_work(
      quick, [region, destination, buffer = std::move(buffer)](CudaQueue& on, QueueReport&) {
        return on.copies().download(destination, Layout::matrix(buffer.data, region));
      });
  return {};
}

Status CudaDevice::copy(QueueId queue_id, BufferId source_id, const Region& from,
                        BufferId destination_id, const Region& to) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory source = parts_.memory->held(source_id);
  HeldMemory destination = parts_.memory->held(destination_id);
  Status status = check_region("copy", source_id, source, from);
  if (status.ok()) status = check_region("copy", destination_id, destination, to);
  if (status.ok()) status = check_sizes("copy", packed_bytes(from), packed_bytes(to));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work(true, [from, to, source = std::move(source),
                            destination = std::move(destination)](CudaQueue& on, QueueReport&) {
    return on.copies().copy(Layout::matrix(destination.data, to),
                            Layout::matrix(source.data, from));
  });
  return {};
}

Status CudaDevice::digest(QueueId queue_id, BufferId id, const Region& region,
                          std::uint64_t chunk_bytes, std::span<Digest> digests) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = parts_.memory->held(id);
  Status status = check_region("digest", id, buffer, region);
  const Chunks chunks(region, chunk_bytes);
  if (status.ok()) status = check_chunks(chunks.count(), digests.size());
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work(
      false, [chunks, digests, buffer = std::move(buffer)](CudaQueue& on, QueueReport&) -> Status {
        for (std::uint64_t i = 0; i < chunks.count(); ++i) {
          OB_RETURN_IF_ERROR(on.copies().digest(buffer.data, chunks.at(i), digests[i]));
        }
        return {};
      });
  return {};
}

// --- routines and transforms ---------------------------------------------------------------------

Status CudaDevice::call(QueueId queue_id, const Descriptor& routine, const Argument* arguments) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HostCall call;
  Status status = resolve_call(*parts_.memory, routine, arguments, call);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work(false,
                     [this, accuracy = queue->accuracy(),
                      what = computation_of(routine, call.flops(), queue->account()),
                      call = std::move(call)](CudaQueue& on, QueueReport& report) -> Status {
                       OB_RETURN_IF_ERROR(check_indices(on.context(), call));
                       on.context().accuracy = accuracy;
                       return on.compute(time_, what, report, [&] {
                         return Routines::run(on.context(), *call.routine, call.arguments);
                       });
                     });
  return {};
}

Result<PlanId> CudaDevice::make_plan(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(planner_.check(plan));
  OB_RETURN_IF_ERROR(planner_.admit());
  auto made = std::make_shared<Plan>();
  made->shape = plan;
  planner_.submit(false, made, [this](Plan& waiting) { build(waiting); });
  return plans_.add(std::move(made));
}

void CudaDevice::build(Plan& plan) const {
  plan.status = gpu().make_current();
  if (plan.status.ok()) {
    auto planned = CudaFftPlan::make(*parts_.libraries, parts_.ordinal, plan.shape);
    plan.status = planned.status();
    if (planned.ok()) plan.plan = std::move(*planned);
  }
  plan.made.set();
}

Status CudaDevice::destroy_plan(PlanId id) {
  const auto plan = plans_.take(id);
  if (plan == nullptr) return no_such_plan(id);
  return gpu().make_current();  // it may go here
}

std::uint64_t CudaDevice::plan_host_bytes(const FftPlan& plan) const {
  return planner_.check(plan).ok() ? CudaFftPlan::host_bytes(plan) : 0;
}

Status CudaDevice::execute(QueueId queue_id, PlanId id, BufferRef input, BufferRef output) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto plan = plans_.find(id);
  HostTransform transform;
  Status status = plan == nullptr
                      ? no_such_plan(id)
                      : resolve_transform(*parts_.memory, plan->shape, input, output, transform);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work(
      false,
      [this, accuracy = queue->accuracy(), what = computation_of(plan->shape, queue->account()),
       plan = std::move(plan),
       transform = std::move(transform)](CudaQueue& on, QueueReport& report) -> Status {
        report.plan_ns += plan->made.wait();
        OB_RETURN_IF_ERROR(plan->status);
        on.context().accuracy = accuracy;
        return on.compute(time_, what, report, [&] {
          return plan->plan->execute(on.context(), transform.input, transform.output);
        });
      });
  return {};
}

}  // namespace ob::cuda
