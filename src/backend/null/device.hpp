#pragma once
// The null device: checks everything a device checks, then computes nothing.

#include "backend/null/pace.hpp"
#include "device/host_device.hpp"

namespace ob::null {

/// Threads: any, as Device
class NullDevice final : public HostDevice {
 public:
  NullDevice(DeviceInfo info, double rate_gflops, double plan_seconds);
  ~NullDevice() override { finish_queues(); }

  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan) override;
  Status destroy_plan(PlanId plan) override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;

 private:
  struct Plan {
    FftPlan shape;
    EventMark made;
  };
  bool cheap(double flops) const { return pace_.seconds(flops) < HostQueue::kCheapSeconds; }

  Pace pace_;
  const double plan_seconds_;
  HandleTable<PlanId, Plan> plans_;
  HostQueue planner_{"ob-planner"};
};

}  // namespace ob::null
