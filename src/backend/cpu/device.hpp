#pragma once
// A share of this machine's cores as a device.

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "backend/cpu/call_runner.hpp"
#include "backend/cpu/corruption.hpp"
#include "backend/cpu/libraries.hpp"
#include "device/compute_time.hpp"
#include "device/host_call.hpp"
#include "device/host_device.hpp"
#include "device/planner.hpp"

namespace ob::cpu {

/// Runs one computation at a time, with all its threads, or a few if they take long and clients
/// have executors; other queues copy meanwhile.
/// Threads: any, as Device
class CpuDevice final : public HostDevice {
 public:
  /// @param libraries tell which routines there are; `runner` calls them
  /// @param longest_command_s as ComputeTime's; a runner that can stop computations stops one that
  ///        takes longer while others wait
  /// @param overlap the turns that the runner can carry out at once
  CpuDevice(DeviceInfo info, std::shared_ptr<const Libraries> libraries,
            std::unique_ptr<CallRunner> runner, double longest_command_s = 0,
            const FairTurns::Overlap& overlap = {});
  ~CpuDevice() override;

  /// See Corruption.   Threads: before the first call
  void corrupt(unsigned every) noexcept { corruption_.every(every); }
  /// See Config::fail_calls.   Threads: before the first call
  void fail_calls(std::string file) noexcept { fail_calls_ = std::move(file); }
  using HostDevice::use_kernels;
  /// See Config::longest_kernel_s.   Threads: before the first launch
  void limit_kernels(double longest_s) noexcept { longest_kernel_s_ = longest_s; }

  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) override;
  Status destroy_plan(PlanId plan) override;
  std::uint64_t plan_host_bytes(const FftPlan& plan) const override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;
  unsigned turns() const noexcept override { return time_.turns(); }
  std::uint64_t executor_deaths() const noexcept override {
    return runner_->executor_deaths() + kernel_process_deaths();
  }

 protected:
  Result<std::shared_ptr<HostQueue>> make_queue(const std::string& name,
                                                const Account& account) override;
  void submit_launch(HostQueue& queue, std::unique_ptr<PendingLaunch> launch) override;

 private:
  Status fail_on_purpose() const;
  Status run(const HostCall& call, const Caller& caller);
  Status run(TransformPlan& plan, const HostTransform& transform, const Caller& caller);
  Caller caller_of(const HostQueue& queue, bool cheap) const;
  KernelCaller kernel_caller_of(const HostQueue& queue) const;
  Status reason_to_stop(const HostQueue& queue, std::chrono::duration<double> took, bool cheap,
                        std::chrono::duration<double> had) const;
  bool cheap(double flops, double flops_per_second, std::uint64_t touched_bytes) const;

  const std::shared_ptr<const Libraries> libraries_;
  const std::unique_ptr<CallRunner> runner_;
  ComputeTime time_;
  Corruption corruption_;
  std::string fail_calls_;
  double longest_kernel_s_ = 0;
  HandleTable<PlanId, TransformPlan> plans_;
  Planner planner_;
};

}  // namespace ob::cpu
