#include "backend/cpu/device.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backend/cpu/fft_plan.hpp"
#include "device/kernels/launch_run.hpp"
#include "device/stopwatch.hpp"

namespace ob::cpu {
namespace {

// Estimates on the slow side, which decide whether a call is worth a change of threads: small
// matrices reach a quarter of the measured dgemm rate, one core's FFT 2 GFLOP/s, memory 4 GB/s.
constexpr double kSmallFraction = 0.25;
constexpr double kLeastGemmRate = 2e9;
constexpr double kFftRate = 2e9;
constexpr double kMemoryRate = 4e9;

// A cheap computation holds up a thread that serves its client. One that takes this long does not
// end by itself.
constexpr std::chrono::seconds kCheapLimit{1};

}  // namespace

CpuDevice::CpuDevice(DeviceInfo info, std::shared_ptr<const Libraries> libraries,
                     std::unique_ptr<CallRunner> runner, double longest_command_s,
                     const FairTurns::Overlap& overlap)
    : HostDevice(std::move(info)),
      libraries_(std::move(libraries)),
      runner_(std::move(runner)),
      time_(longest_command_s, overlap),
      planner_(this->info().memory_bytes) {}

CpuDevice::~CpuDevice() {
  finish_queues();
  planner_.finish();
}

bool CpuDevice::cheap(double flops, double flops_per_second, std::uint64_t touched_bytes) const {
  // False while another queue computes, because the submitting thread must not wait for it.
  if (time_.wanted()) return false;
  const double seconds =
      flops / flops_per_second + static_cast<double>(touched_bytes) / kMemoryRate;
  return seconds < HostQueue::kCheapSeconds;
}

// A cheap computation has kCheapLimit of the processor's time: on a busy machine any call may take
// longer.
Status CpuDevice::reason_to_stop(const HostQueue& queue, std::chrono::duration<double> took,
                                 bool cheap, std::chrono::duration<double> had) const {
  if (queue.abandoned()) return {Code::busy, "stopped (the client has gone)"};
  if (cheap && had > kCheapLimit) {
    return {Code::busy, "stopped after " + std::to_string(kCheapLimit.count()) +
                            " s (its operands take far longer than others of their size)"};
  }
  return time_.reason_to_stop(queue.account(), took);
}

// The queue outlives its commands.
Caller CpuDevice::caller_of(const HostQueue& queue, bool cheap) const {
  const auto began = std::chrono::steady_clock::now();
  return {queue.account(),
          [this, &queue, cheap, began](std::chrono::nanoseconds had) {
            const auto took = std::chrono::steady_clock::now() - began;
            return reason_to_stop(queue, took, cheap, had);
          },
          cheap};
}

Status CpuDevice::call(QueueId queue_id, const Descriptor& routine, const Argument* arguments) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HostCall call;
  Status status = prepare_call(*libraries_, memory(), routine, arguments, call);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const double rate = std::max(kLeastGemmRate, info().gflops_double * 1e9 * kSmallFraction);
  const double flop = call.flops();
  const TaskManner manner{.cheap = cheap(flop, rate, call.operand_bytes)};
  queue->submit(manner,
                [this, from = queue.get(), cheap = manner.cheap,
                 what = computation_of(routine, flop, queue->account()),
                 call = std::move(call)](QueueReport& report) -> Status {
                  OB_RETURN_IF_ERROR(runner_->prepare(from->account()));
                  return time_.spend(what, report,
                                     [&] { return run(call, caller_of(*from, cheap)); });
                });
  return {};
}

Status CpuDevice::fail_on_purpose() const {
  if (fail_calls_.empty() || ::access(fail_calls_.c_str(), F_OK) != 0) return {};
  (void)::unlink(fail_calls_.c_str());  // fails for a folder
  return {Code::device_error, "this call fails on purpose (--fail-calls)"};
}

Status CpuDevice::run(const HostCall& call, const Caller& caller) {
  OB_RETURN_IF_ERROR(fail_on_purpose());
  OB_RETURN_IF_ERROR(runner_->run(call, caller));
  corruption_.after(*call.routine, call.arguments);
  return {};
}

Result<std::shared_ptr<HostQueue>> CpuDevice::make_queue(const std::string& name,
                                                         const Account& account) {
  return std::shared_ptr<HostQueue>(std::make_shared<LaunchQueue>(name, account));
}

// Launches that run together have one turn, the predicted time of which is that of the first. So
// those that are known to take long do not go along with another one. The runner ends the request
// after a short time, so it holds up others for that time and one kernel, which is the last one.
void CpuDevice::submit_launch(HostQueue& queue, std::unique_ptr<PendingLaunch> launch) {
  auto place = static_cast<LaunchQueue&>(queue).place(std::move(launch));  // see make_queue()
  // The queue outlives its commands.
  queue.submit({}, [this, on = &queue, place = std::move(place)](QueueReport& report) -> Status {
    if (place.entry->outcome) return *place.entry->outcome;
    PendingLaunch& first = *place.entry->launch;
    OB_RETURN_IF_ERROR(first.prepare(report.plan_ns));
    const auto known_s = [&](const PendingLaunch& launch) {
      return time_.predict(launch.computation(on->account()));
    };
    OB_ASSIGN_OR_RETURN(const auto turn, time_.take_turn(first.computation(on->account()), report));
    const KernelCaller caller = kernel_caller_of(*on);
    const Stopwatch watch;
    const LaunchRun::Request request =
        place.run->run(place.entry, *on, &caller,
                       [&](const PendingLaunch& launch) { return known_s(launch) == 0; });
    time_.count(request.last->computation(on->account()), watch.elapsed_ns(), request.status,
                report);
    return *place.entry->outcome;
  });
}

KernelCaller CpuDevice::kernel_caller_of(const HostQueue& queue) const {
  return {queue.account(), [this, &queue](std::chrono::duration<double> took) -> Status {
            if (longest_kernel_s_ > 0 && took.count() > longest_kernel_s_) {
              return {Code::busy, "it took longer than --longest-kernel of the daemon allows"};
            }
            return reason_to_stop(queue, took, false, {});
          }};
}

Result<PlanId> CpuDevice::make_plan(const FftPlan& plan, const Account& account) {
  OB_RETURN_IF_ERROR(planner_.check(plan));
  OB_ASSIGN_OR_RETURN(auto made, runner_->plan(plan, account));
  OB_RETURN_IF_ERROR(planner_.admit(account));
  // An estimated plan takes microseconds for small sizes, and seconds for large ones, mostly for
  // tables of sines.
  constexpr std::uint64_t kQuickPoints = 4096;
  planner_.submit(account, points(plan) <= kQuickPoints, made,
                  [](TransformPlan& waiting) { waiting.build(); });
  return plans_.add(std::move(made));
}

Status CpuDevice::destroy_plan(PlanId id) {
  return plans_.take(id) == nullptr ? no_such_plan(id) : Status();
}

std::uint64_t CpuDevice::plan_host_bytes(const FftPlan& plan) const {
  return planner_.check(plan).ok() ? CpuFftPlan::host_bytes(plan) : 0;
}

Status CpuDevice::execute(QueueId queue_id, PlanId id, BufferRef input, BufferRef output) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  auto plan = plans_.find(id);
  HostTransform transform;
  Status status = plan == nullptr
                      ? no_such_plan(id)
                      : resolve_transform(memory(), plan->plan(), input, output, transform);
  if (!status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const std::uint64_t touched_bytes = input_bytes(plan->plan()) + output_bytes(plan->plan());
  const bool at_once = plan->built() && cheap(ob::flops(plan->plan()), kFftRate, touched_bytes);
  queue->submit({.cheap = at_once},
                [this, from = queue.get(), cheap = at_once,
                 what = computation_of(plan->plan(), queue->account()), plan = std::move(plan),
                 transform = std::move(transform)](QueueReport& report) {
                  OB_RETURN_IF_ERROR(plan->wait(report.plan_ns));
                  OB_RETURN_IF_ERROR(runner_->prepare(from->account()));
                  return time_.spend(
                      what, report, [&] { return run(*plan, transform, caller_of(*from, cheap)); });
                });
  return {};
}

Status CpuDevice::run(TransformPlan& plan, const HostTransform& transform, const Caller& caller) {
  OB_RETURN_IF_ERROR(fail_on_purpose());
  OB_RETURN_IF_ERROR(plan.execute(transform, caller));
  corruption_.after(plan.plan(), transform.output);
  return {};
}

}  // namespace ob::cpu
