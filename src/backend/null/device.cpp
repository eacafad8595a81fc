#include "backend/null/device.hpp"

#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <utility>

#include "backend/null/kernels.hpp"
#include "device/host_call.hpp"

namespace ob::null {
namespace {

// Sets the integers that a routine returns: info to 0, and indices (pivots) to valid ones, each to
// its own place. A program stops if it finds an undefined info, and its library uses indices as
// addresses when the next call of the program stays local.
void set_integers(const HostCall& call) {
  if (call.routine->library != Library::lapack) return;  // has none, and its calls may be short
  const Operands operands = call.routine->operands(call.arguments);
  for (const Operand& operand : operands.span()) {
    const Kind kind = call.routine->kinds[operand.argument];
    auto* const integers = static_cast<std::int64_t*>(call.arguments[operand.argument].host.data);
    if (!operand.written || integers == nullptr) continue;
    if (kind == Kind::info) *integers = 0;
    if (kind == Kind::index_vector)
      std::iota(integers, integers + operand.rows * operand.cols, std::int64_t{1});
  }
}

}  // namespace

NullDevice::NullDevice(DeviceInfo info, const Config& config)
    : HostDevice(std::move(info)),
      time_(config.longest_command_s),
      pace_(config.rate_gflops),
      plan_seconds_(config.plan_seconds),
      planner_(this->info().memory_bytes) {
  use_kernels(make_kernels());
}

Status NullDevice::compute(const Computation& what, QueueReport& report) {
  return time_.spend(what, report, [&] {
    pace_.spend(what.flop);
    return Status();
  });
}

void NullDevice::submit_copy(HostQueue& queue, CheckedCopy copy) {
  if (copy.way == Way::inside && pace_.seconds(1) > 0) {
    queue.submit({.cheap = true}, [](QueueReport&) { return Status(); });
  } else {
    HostDevice::submit_copy(queue, std::move(copy));
  }
}

// The first launches may wait for their module.
void NullDevice::submit_launch(HostQueue& queue, std::unique_ptr<PendingLaunch> launch) {
  const bool at_once = launch->is_compiled() && cheap(0);
  queue.submit({.cheap = at_once},
               [this, on = &queue, launch = std::move(launch)](QueueReport& report) -> Status {
                 OB_RETURN_IF_ERROR(launch->prepare(report.plan_ns));
                 return time_.spend(launch->computation(on->account()), report,
                                    [&] { return launch->run(*on); });
               });
}

Status NullDevice::call(QueueId queue_id, const Descriptor& routine, const Argument* arguments) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HostCall call;
  if (Status status = resolve_call(memory(), routine, arguments, call); !status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  // A real backend runs the library in this command, with call.arguments.
  const double flops = call.flops();
  queue->submit({.cheap = cheap(flops)},
                [this, what = computation_of(routine, flops, queue->account()),
                 call = std::move(call)](QueueReport& report) {
                  set_integers(call);
                  return compute(what, report);
                });
  return {};
}

Result<PlanId> NullDevice::make_plan(const FftPlan& plan, const Account& account) {
  OB_RETURN_IF_ERROR(check_plan(plan));
  OB_RETURN_IF_ERROR(planner_.admit(account));
  auto made = std::make_shared<Plan>();
  made->shape = plan;
  // A real backend plans here, while data may be in transfer.
  planner_.submit(account, plan_seconds_ == 0, made, [this](Plan& waiting) {
    if (plan_seconds_ > 0)
      std::this_thread::sleep_for(std::chrono::duration<double>(plan_seconds_));
    waiting.made.set();
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
  const bool at_once = plan->made.done() && cheap(flops(plan->shape));
  queue->submit({.cheap = at_once},
                [this, what = computation_of(plan->shape, queue->account()), plan = std::move(plan),
                 transform = std::move(transform)](QueueReport& report) {
                  report.plan_ns += plan->made.wait();
                  return compute(what, report);
                });
  return {};
}

}  // namespace ob::null
