#pragma once
// One of OpenCL's devices as a device.

#include <memory>
#include <string>

#include "backend/opencl/fft_plan.hpp"
#include "backend/opencl/queue.hpp"
#include "device/compute_time.hpp"
#include "device/gemm_rate.hpp"
#include "device/host_call.hpp"
#include "device/host_routines.hpp"
#include "device/host_transforms.hpp"
#include "device/planner.hpp"
#include "device/queued_device.hpp"

namespace ob::opencl {

/// Computes one thing at a time, with all of the accelerator; copies of other queues go on
/// meanwhile.
/// Threads: any, as Device
class ClDevice final : public QueuedDevice {
 public:
  /// What a device is made of.
  struct Parts {
    const Cl& cl;
    const Accelerator& accelerator;
    std::unique_ptr<Libraries> libraries = {};
    const ClMemory* source = nullptr;  ///< of `memory`
    std::unique_ptr<DeviceMemory> memory = {};
    std::shared_ptr<const HostRoutines> host = {};
    std::shared_ptr<const HostTransforms> transforms = {};
  };
  /// @param longest_command_s as ComputeTime's
  ClDevice(DeviceInfo info, Parts parts, double longest_command_s);
  ~ClDevice() override;

  const DeviceInfo& info() const noexcept override { return info_; }
  MemoryUse memory_use() const override { return parts_.memory->use(); }

  Result<BufferId> allocate(std::uint64_t size_bytes) override;
  Status free(BufferId buffer) override;
  std::byte* host_view(BufferId /*buffer*/) noexcept override { return nullptr; }
  Result<SegmentView> segment(BufferId buffer) override;

  Status write(QueueId queue, BufferId buffer, const Region& region, const Layout& source) override;
  Status read(QueueId queue, BufferId buffer, const Region& region,
              const Layout& destination) override;
  Status copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
              const Region& to) override;
  Status digest(QueueId queue, BufferId buffer, const Region& region, std::uint64_t chunk_bytes,
                std::span<Digest> digests) override;

  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override;
  Result<PlanId> make_plan(const FftPlan& plan) override;
  Status destroy_plan(PlanId plan) override;
  std::uint64_t plan_host_bytes(const FftPlan& plan) const override;
  Status execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) override;

  /// Measures the dgemm rate into info().   Threads: before others
  void measure() { info_.gflops_double = measure_gflops(*this); }

 protected:
  Result<std::shared_ptr<HostQueue>> make_queue(const std::string& name,
                                                const Account& account) override;

 private:
  struct Plan {
    FftPlan shape;
    EventMark made;
    Status status;
    std::unique_ptr<ClFftPlan> plan;
  };
  std::shared_ptr<ClQueue> find(QueueId id) const;
  void build(Plan& plan) const;

  DeviceInfo info_;
  const Parts parts_;
  ComputeTime time_;
  HandleTable<PlanId, Plan> plans_;
  Planner planner_;
};

}  // namespace ob::opencl
