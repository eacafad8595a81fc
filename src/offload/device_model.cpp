#include "offload/device_model.hpp"

#include "offload/call_cut.hpp"

namespace ob::offload {

algorithms::PipelineModel model_of(const Execution& execution,
                                   const client::AcquiredDevice& acquired,
                                   const RoutineCall& call) {
  const Link link = execution.connections.link(acquired.server());
  const double told = acquired.device().info().gflops_double * 1e9 * device_share(call.routine);
  const policy::Rate rate = execution.rates.at(call.flops(), {told, 1});
  return {.to_bytes_per_s = link.to_bytes_per_s,
          .from_bytes_per_s = link.from_bytes_per_s,
          .message_s = algorithms::kMessageSeconds,
          .fetch_s = algorithms::kFetchSeconds,
          .flop_per_s = rate.flop_per_s,
          .call_s = algorithms::kCallSeconds,
          .submit_s = algorithms::kSubmitSeconds};
}

std::vector<algorithms::PipelineModel> models_of(const Execution& execution, Devices devices,
                                                 const RoutineCall& call) {
  std::vector<algorithms::PipelineModel> models;
  for (const client::AcquiredDevice* acquired : devices)
    models.push_back(model_of(execution, *acquired, call));
  return models;
}

}  // namespace ob::offload
