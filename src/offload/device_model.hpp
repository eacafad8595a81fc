#pragma once
// The model of a link and the device behind it.

#include "algorithms/panels/pipeline_model.hpp"
#include "client/connection_cache.hpp"
#include "offload/execution.hpp"

namespace ob::offload {

/// Models the way to an acquired device, and the device's rate for such a call.
algorithms::PipelineModel model_of(const Execution& execution,
                                   const client::AcquiredDevice& acquired, const RoutineCall& call);

}  // namespace ob::offload
