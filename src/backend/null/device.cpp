#include "backend/null/device.hpp"

#include <string>
#include <utility>

#include "device/host_call.hpp"
#include "device/stopwatch.hpp"

namespace ob::null {
namespace {

Status no_such_plan(PlanId id) {
  return {Code::invalid_argument, "plan " + std::to_string(id.value) + " does not exist"};
}

}  // namespace

NullDevice::NullDevice(DeviceInfo info, double rate_gflops)
    : HostDevice(std::move(info)), pace_(rate_gflops) {}

Status NullDevice::call(QueueId queue_id, const Descriptor& routine, const Argument* arguments) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HostCall call;
  if (Status status = resolve_call(memory(), routine, arguments, call); !status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  // A real backend runs the library here, with call.arguments.
  const double flops = call.flops();
  queue->submit({.cheap = cheap(flops)},
                [this, flops, call = std::move(call)](QueueReport& report) {
                  const Stopwatch watch;
                  pace_.spend(flops);
                  report.compute_ns += watch.elapsed_ns();
                  return Status();
                });
  return {};
}

Result<PlanId> NullDevice::make_plan(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(check_plan(plan));
  return plans_.add(std::make_shared<const FftPlan>(plan));
}

Status NullDevice::destroy_plan(PlanId id) {
  return plans_.take(id) == nullptr ? no_such_plan(id) : Status();
}

Status NullDevice::execute(QueueId queue_id, PlanId id, BufferRef input, BufferRef output) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  const auto plan = plans_.find(id);
  HostTransform transform;
  Status status = plan == nullptr ? no_such_plan(id)
                                  : resolve_transform(memory(), *plan, input, output, transform);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const double flops = ob::flops(*plan);
  queue->submit({.cheap = cheap(flops)},
                [this, flops, transform = std::move(transform)](QueueReport& report) {
                  const Stopwatch watch;
                  pace_.spend(flops);
                  report.compute_ns += watch.elapsed_ns();
                  return Status();
                });
  return {};
}

}  // namespace ob::null
