#include "backend/cpu/device.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/cpu/call_checks.hpp"
#include "backend/cpu/refusal.hpp"

namespace ob::cpu {
namespace {

// Estimates on the slow side, which decide whether a call is worth a change of threads: small
// matrices reach a quarter of the measured dgemm rate, one core's FFT 2 GFLOP/s, memory 4 GB/s.
constexpr double kSmallFraction = 0.25;
constexpr double kLeastGemmRate = 2e9;
constexpr double kFftRate = 2e9;
constexpr double kMemoryRate = 4e9;

}  // namespace

CpuDevice::CpuDevice(DeviceInfo info, Libraries libraries, unsigned threads,
                     double longest_command_s)
    : HostDevice(std::move(info)),
      libraries_(std::move(libraries)),
      threads_(threads),
      time_(longest_command_s),
      planner_(this->info().memory_bytes) {}

CpuDevice::~CpuDevice() { finish_queues(); }

bool CpuDevice::cheap(double flops, double flops_per_second, std::uint64_t touched_bytes) const {
  // False while another queue computes, because the submitting thread must not wait for it.
  if (time_.wanted()) return false;
  const double seconds =
      flops / flops_per_second + static_cast<double>(touched_bytes) / kMemoryRate;
  return seconds < HostQueue::kCheapSeconds;
}

Status CpuDevice::prepare(const Descriptor& routine, const Argument* arguments, HostCall& call,
                          const BlasLibrary::Routine*& found) {
  if (libraries_.blas == nullptr) {
    return Status(Code::unsupported, libraries_.no_blas.message()).in(std::string(routine.name));
  }
  found = libraries_.blas->find(routine.id);
  if (found == nullptr) {
    return {Code::unsupported, std::string(routine.name) + " is not in this device's library (" +
                                   libraries_.blas->description() + ")"};
  }
  OB_RETURN_IF_ERROR(resolve_call(memory(), routine, arguments, call));
  OB_RETURN_IF_ERROR(check_for_library(routine, call.arguments));
  drop_product_if_alpha_zero(routine, call.arguments);
  return {};
}

Status CpuDevice::call(QueueId queue_id, const Descriptor& routine, const Argument* arguments) {
  const auto queue = find_queue(queue_id);
  if (queue == nullptr) return no_such_queue(queue_id);
  HostCall call;
  const BlasLibrary::Routine* found = nullptr;
  if (Status status = prepare(routine, arguments, call, found); !status.ok()) {
    queue->fail(std::move(status));
    return {};
  }
  const double rate = std::max(kLeastGemmRate, info().gflops_double * 1e9 * kSmallFraction);
  const double flop = call.flops();
  const TaskManner manner{.cheap = cheap(flop, rate, call.operand_bytes)};
  queue->submit(manner, [this, found, what = computation_of(routine, flop, queue->account()),
                         call = std::move(call)](QueueReport& report) {
    OB_RETURN_IF_ERROR(check_indices(*call.routine, call.arguments));
    return time_.spend(what, report, [&] { return run(*found, call); });
  });
  return {};
}

Status CpuDevice::run(const BlasLibrary::Routine& routine, const HostCall& call) {
  const bool ran = libraries_.blas->run(routine, call.arguments);
  const std::string name(call.routine->name);
  if (!ran) return {Code::out_of_memory, name + ": no memory for the workspace of this call"};
  const std::string refusal = take_refusal();
  corruption_.after(*call.routine, call.arguments);
  if (refusal.empty()) return {};
  return {Code::invalid_argument, name + ": this device's library refuses it (" + refusal + ")"};
}

Result<PlanId> CpuDevice::make_plan(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(planner_.check(plan));
  const std::size_t precision = plan.precision == Precision::c ? 1 : 0;
  if (libraries_.fft[precision] == nullptr) return libraries_.no_fft[precision];
  OB_RETURN_IF_ERROR(planner_.admit());
  auto made = std::make_shared<CpuFftPlan>(plan, libraries_.fft[precision], threads_);
  // An estimated plan takes microseconds for small sizes, and seconds for large ones, mostly for
  // tables of sines.
  constexpr std::uint64_t kQuickPoints = 4096;
  planner_.submit(points(plan) <= kQuickPoints, made, [](CpuFftPlan& waiting) { waiting.build(); });
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
                [this, what = computation_of(plan->plan(), queue->account()),
                 plan = std::move(plan), transform = std::move(transform)](QueueReport& report) {
                  OB_RETURN_IF_ERROR(plan->wait(report.plan_ns));
                  return time_.spend(what, report, [&] { return run(*plan, transform); });
                });
  return {};
}

Status CpuDevice::run(CpuFftPlan& plan, const HostTransform& transform) {
  Status status = plan.execute(transform.input, transform.output);
  corruption_.after(plan.plan(), transform.output);
  return status;
}

}  // namespace ob::cpu
