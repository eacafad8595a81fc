#pragma once
// The jobs that calls become on a device.

#include <span>

#include "offload/device_job.hpp"
#include "offload/execution.hpp"
#include "offload/fft_transform.hpp"

namespace ob::offload {

/// One call, on the acquired device and perhaps on others beside it.
/// Memory: owns neither the execution nor the call, as the jobs below
class CallJob final : public DeviceJob {
 public:
  CallJob(const Execution& execution, const RoutineCall& call)
      : execution_(execution), call_(call) {}
  Status run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) override;

 private:
  const Execution& execution_;
  const RoutineCall call_;
};

/// The calls of a batch, together on one device.
class BatchJob final : public DeviceJob {
 public:
  BatchJob(const Descriptor& routine, std::span<const CallArguments> calls)
      : routine_(routine), calls_(calls) {}
  Status run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) override;

 private:
  const Descriptor& routine_;
  const std::span<const CallArguments> calls_;
};

/// One transform.
class FftJob final : public DeviceJob {
 public:
  FftJob(Residents& residents, const FftTransform& transform, const FftArrays& arrays)
      : residents_(residents), transform_(transform), arrays_(arrays) {}
  Status run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) override;

 private:
  Residents& residents_;
  const FftTransform& transform_;
  const FftArrays arrays_;
};

}  // namespace ob::offload
