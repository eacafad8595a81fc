#pragma once
// A share of this machine's cores as a device.

#include <array>
#include <memory>

#include "backend/cpu/blas_library.hpp"
#include "backend/cpu/corruption.hpp"
#include "backend/cpu/fft_plan.hpp"
#include "device/compute_time.hpp"
#include "device/host_call.hpp"
#include "device/host_device.hpp"
#include "device/planner.hpp"

namespace ob::cpu {

/// Runs one computation at a time, with all its threads; other queues copy meanwhile.
/// Threads: any, as Device
class CpuDevice final : public HostDevice {
 public:
  /// The libraries of a device, or the reasons why they are absent.
  struct Libraries {
    std::unique_ptr<BlasLibrary> blas;
    Status no_blas;
    std::array<std::shared_ptr<const FftLibrary>, 2> fft;  // double, single
    std::array<Status, 2> no_fft;
  };
  /// @param longest_command_s as ComputeTime's
  CpuDevice(DeviceInfo info, Libraries libraries, unsigned threads, double longest_command_s = 0);
  ~CpuDevice() override;

  /// See Corruption.   Threads: before the first call
  void corrupt(unsigned every) noexcept { corruption_.every(every); }

  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan) override;
  Status destroy_plan(PlanId plan) override;
  std::uint64_t plan_host_bytes(const FftPlan& plan) const override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;

 private:
  Status prepare(const Descriptor& routine, const Argument* arguments, HostCall& call,
                 const BlasLibrary::Routine*& found);
  Status run(const BlasLibrary::Routine& routine, const HostCall& call);
  Status run(CpuFftPlan& plan, const HostTransform& transform);
  bool cheap(double flops, double flops_per_second, std::uint64_t touched_bytes) const;

  const Libraries libraries_;
  const unsigned threads_;
  ComputeTime time_;
  Corruption corruption_;
  HandleTable<PlanId, CpuFftPlan> plans_;
  Planner planner_;
};

}  // namespace ob::cpu
