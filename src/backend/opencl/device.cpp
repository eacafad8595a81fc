#include "backend/opencl/device.hpp"

#include <utility>

#include "backend/opencl/routines.hpp"
#include "base/chunks.hpp"
#include "device/region_checks.hpp"

namespace ob::opencl {
namespace {

Status no_such_plan(PlanId id) {
  return {Code::invalid_argument, "plan " + std::to_string(id.value) + " does not exist"};
}

}  // namespace

ClDevice::ClDevice(DeviceInfo info, Parts parts, double longest_command_s)
    : info_(std::move(info)),
      parts_(std::move(parts)),
      time_(longest_command_s),
      planner_(info_.memory_bytes) {}

ClDevice::~ClDevice() {
  finish_queues();
  planner_.finish();
}

std::shared_ptr<ClQueue> ClDevice::find(QueueId id) const {
  return std::static_pointer_cast<ClQueue>(find_queue(id));  // make_queue() makes no others
}

Result<std::shared_ptr<HostQueue>> ClDevice::make_queue(const std::string& name,
                                                        const Account& account) {
  OB_ASSIGN_OR_RETURN(
      auto queue, ClQueue::create({parts_.cl, parts_.accelerator, *parts_.source, *parts_.memory,
                                   *parts_.libraries, parts_.host.get()},
                                  name, account));
  return std::shared_ptr<HostQueue>(std::move(queue));
}

// --- memory --------------------------------------------------------------------------------------

Result<BufferId> ClDevice::allocate(std::uint64_t size_bytes) {
  return parts_.memory->allocate(size_bytes);
}

Status ClDevice::free(BufferId buffer) { return parts_.memory->free(buffer); }

Result<SegmentView> ClDevice::segment(BufferId /*buffer*/) {
  return Status(Code::unsupported, "buffers of this device do not lie in memory files");
}

Status ClDevice::write(QueueId queue_id, BufferId id, const Region& region, const Layout& source) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HeldMemory buffer = parts_.memory->held(id);
  Status status = check_region("write", id, buffer, region);
  if (status.ok()) status = check_sizes("write", source.total_bytes(), packed_bytes(region));
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work([region, source, buffer = std::move(buffer)](ClQueue& on, QueueReport&) {
    return on.copies().upload(Layout::matrix(buffer.data, region), source);
  });
  return {};
}

Status ClDevice::read(QueueId queue_id, BufferId id, const Region& region,
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
  queue->submit_work([region, destination, buffer = std::move(buffer)](ClQueue& on, QueueReport&) {
    return on.copies().download(destination, Layout::matrix(buffer.data, region));
  });
  return {};
}

Status ClDevice::copy(QueueId queue_id, BufferId source_id, const Region& from,
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
  queue->submit_work([from, to, source = std::move(source), destination = std::move(destination)](
                         ClQueue& on, QueueReport&) {
    return on.copies().copy(Layout::matrix(destination.data, to),
                            Layout::matrix(source.data, from));
  });
  return {};
}

Status ClDevice::digest(QueueId queue_id, BufferId id, const Region& region,
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
      [chunks, digests, buffer = std::move(buffer)](ClQueue& on, QueueReport&) -> Status {
        for (std::uint64_t i = 0; i < chunks.count(); ++i) {
          OB_RETURN_IF_ERROR(on.copies().digest(buffer.data, chunks.at(i), digests[i]));
        }
        return {};
      });
  return {};
}

// --- routines and transforms ---------------------------------------------------------------------

Status ClDevice::call(QueueId queue_id, const Descriptor& routine, const Argument* arguments) {
  const auto queue = find(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HostCall call;
  Status status = resolve_call(*parts_.memory, routine, arguments, call);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  queue->submit_work([this, what = computation_of(routine, call.flops(), queue->account()),
                      call = std::move(call)](ClQueue& on, QueueReport& report) -> Status {
    return time_.spend(what, report, [&] {
      Status submitted = run_routine(on.context(), *call.routine, call.arguments);
      Status passed = on.context().synchronize();  // its time is up only then
      return submitted.ok() ? passed : submitted;
    });
  });
  return {};
}

Result<PlanId> ClDevice::make_plan(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(planner_.check(plan));
  OB_RETURN_IF_ERROR(planner_.admit());
  auto made = std::make_shared<Plan>();
  made->shape = plan;
  planner_.submit(false, made, [this](Plan& waiting) { build(waiting); });
  return plans_.add(std::move(made));
}

void ClDevice::build(Plan& plan) const {
  auto planned = ClFftPlan::make(parts_.accelerator, parts_.transforms.get(), plan.shape);
  plan.status = planned.status();
  if (planned.ok()) plan.plan = std::move(*planned);
  plan.made.set();
}

Status ClDevice::destroy_plan(PlanId id) {
  return plans_.take(id) == nullptr ? no_such_plan(id) : Status();
}

std::uint64_t ClDevice::plan_host_bytes(const FftPlan& plan) const {
  return planner_.check(plan).ok() ? ClFftPlan::host_bytes(parts_.transforms.get(), plan) : 0;
}

Status ClDevice::execute(QueueId queue_id, PlanId id, BufferRef input, BufferRef output) {
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
      [this, what = computation_of(plan->shape, queue->account()), plan = std::move(plan),
       transform = std::move(transform)](ClQueue& on, QueueReport& report) -> Status {
        report.plan_ns += plan->made.wait();
        OB_RETURN_IF_ERROR(plan->status);
        return time_.spend(what, report, [&] {
          Status submitted = plan->plan->execute(on.context(), transform.input, transform.output);
          Status passed = on.context().synchronize();
          return submitted.ok() ? passed : submitted;
        });
      });
  return {};
}

}  // namespace ob::opencl
