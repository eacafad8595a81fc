#include "offload/device_model.hpp"

#include "offload/call_cut.hpp"

namespace ob::offload {

algorithms::PipelineModel model_of(const Execution& execution,
                                   const client::AcquiredDevice& acquired,
                                   const RoutineCall& call) {
  const Link link = execution.connections.link(acquired.server());
  const double seen = execution.rates.rate(call.flops());
  const double told = acquired.device().info().gflops_double * 1e9 * device_share(call.routine);
  return {.to_bytes_per_s = link.to_bytes_per_s,
          .from_bytes_per_s = link.from_bytes_per_s,
          .message_s = algorithms::kMessageSeconds,
          .fetch_s = algorithms::kFetchSeconds,
          .flop_per_s = seen > 0 ? seen : told,
          .call_s = algorithms::kCallSeconds,
          .submit_s = algorithms::kSubmitSeconds};
}

std::vector<algorithms::PipelineModel> models_of(const Execution& execution, Devices devices,
                                                 const RoutineCall& call) {
  std::vector<algorithms::PipelineModel> models;
  double mean = 0;
  for (const client::AcquiredDevice* acquired : devices) {
    models.push_back(model_of(execution, *acquired, call));
    mean += acquired->device().info().gflops_double / static_cast<double>(devices.size());
  }
  const bool is_seen = execution.rates.rate(call.flops()) > 0;
  for (std::size_t i = 0; is_seen && mean > 0 && i < devices.size(); ++i) {
    models[i].flop_per_s *= devices[i]->device().info().gflops_double / mean;
  }
  return models;
}

}  // namespace ob::offload
