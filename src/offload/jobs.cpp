#include "offload/jobs.hpp"

#include <algorithm>

#include "algorithms/fft/large.hpp"
#include "algorithms/offload.hpp"
#include "offload/placement.hpp"

namespace ob::offload {
namespace {

algorithms::FftArray array_of(const FftSide& side, void* data) noexcept {
  return {data, side.element_bytes, {side.dims.data(), static_cast<std::size_t>(side.dimensions)}};
}

}  // namespace

Status CallJob::run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) {
  return run_placed(execution_, acquired, call_, timings);
}

Status BatchJob::run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) {
  return algorithms::offload_calls(acquired.device(), acquired.queue(), routine_, calls_, timings);
}

Status FftJob::run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) {
  client::RemoteDevice& device = acquired.device();
  const FftPlan plan = plan_on_device(transform_.plan);
  if (auto* resident = residents_.of(acquired)) {
    OB_RETURN_IF_ERROR(resident->make_room(std::max(input_bytes(plan), output_bytes(plan))));
  }
  const algorithms::FftPlanner planner{
      [&](const FftPlan& wanted) { return device.plan_for(wanted); },
      [&] { return device.flush(); }};
  Status status = algorithms::offload_fft(
      device, acquired.queue(), planner,
      {plan, array_of(transform_.input, arrays_.input), array_of(transform_.output, arrays_.output),
       arrays_.input == arrays_.output},
      timings);
  if (!status.ok() && !device.broken()) (void)device.drop_cached_plans();
  return status;
}

}  // namespace ob::offload
