#pragma once
// The null device: makes all checks of a device, then computes nothing. Only info and indices are
// set, so that programs continue.

#include "backend/null/config.hpp"
#include "backend/null/pace.hpp"
#include "device/compute_time.hpp"
#include "device/host_device.hpp"
#include "device/planner.hpp"

namespace ob::null {

/// Threads: any, as Device
class NullDevice final : public HostDevice {
 public:
  NullDevice(DeviceInfo info, const Config& config);
  ~NullDevice() override { finish_queues(); }

  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan, const Account& account = {}) override;
  Status destroy_plan(PlanId plan) override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;
  unsigned turns() const noexcept override { return time_.turns(); }

 protected:
  /// With a rate, copies inside the device do nothing: the elements are undefined, and the time
  /// that the processor would need is not the device's.
  void submit_copy(HostQueue& queue, CheckedCopy copy) override;
  void submit_launch(HostQueue& queue, std::unique_ptr<PendingLaunch> launch) override;

 private:
  struct Plan {
    FftPlan shape;
    EventMark made;
  };
  // A command is not cheap while another queue computes: the submitter must not wait for that
  // queue.
  bool cheap(double flops) const {
    return !time_.wanted() && pace_.seconds(flops) < HostQueue::kCheapSeconds;
  }
  Status compute(const Computation& what, QueueReport& report);

  ComputeTime time_;
  Pace pace_;  // used in turns
  const double plan_seconds_;
  HandleTable<PlanId, Plan> plans_;
  Planner planner_;
};

}  // namespace ob::null
