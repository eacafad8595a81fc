#include "backend/null/device.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "device/host_call.hpp"
#include "device/stopwatch.hpp"

namespace ob::null {
namespace {

Status no_such_plan(PlanId id) {
  return {Code::invalid_argument, "plan " + std::to_string(id.value) + " does not exist"};
}

}  // namespace

NullDevice::NullDevice(DeviceInfo info, double rate_gflops, double plan_seconds)
    : HostDevice(std::move(info)), pace_(rate_gflops), plan_seconds_(plan_seconds) {}

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
  queue->submit({.cheap = cheap(flops)}, [this, flops, account = queue->account(),
                                          call = std::move(call)](QueueReport& report) {
    const Stopwatch watch;
    pace_.spend(flops, account);
    report.compute_ns += watch.elapsed_ns();
    return Status();
  });
  return {};
}

Result<PlanId> NullDevice::make_plan(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(check_plan(plan));
  auto made = std::make_shared<Plan>();
  made->shape = plan;
  // A real backend plans here, while data may be on its way.
  planner_.submit({.cheap = plan_seconds_ == 0}, [this, made](QueueReport&) {
    if (plan_seconds_ > 0)
      std::this_thread::sleep_for(std::chrono::duration<double>(plan_seconds_));
    made->made.set();
    return Status();
  });
  return plans_.add(std::move(made));
}

Status NullDevice::destroy_plan(PlanId id) {
  return plans_.take(id) == nullptr ? no_such_plan(id) : Status();
}

Status NullDevice::execute(QueueId queue_id, PlanId id, BufferRef input, BufferRef output) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto plan = plans_.find(id);
  if (plan == nullptr) {
    queue->fail(no_such_plan(id));
    return {};
  }
  HostTransform transform;
  if (Status status = resolve_transform(memory(), plan->shape, input, output, transform);
      !status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const double flops = ob::flops(plan->shape);
  const bool at_once = plan->made.done() && cheap(flops);
  queue->submit({.cheap = at_once},
                [this, flops, account = queue->account(), plan = std::move(plan),
                 transform = std::move(transform)](QueueReport& report) {
                  report.plan_ns += plan->made.wait();
                  const Stopwatch watch;
                  pace_.spend(flops, account);
                  report.compute_ns += watch.elapsed_ns();
                  return Status();
                });
  return {};
}

}  // namespace ob::null
