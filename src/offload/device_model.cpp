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

}  // namespace ob::offload
