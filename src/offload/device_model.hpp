#pragma once
// The model of a link and the device behind it.

#include <span>
#include <vector>

#include "algorithms/panels/pipeline_model.hpp"
#include "client/connection_cache.hpp"
#include "offload/execution.hpp"

namespace ob::offload {

using Devices = std::span<client::AcquiredDevice* const>;

/// Models the way to an acquired device, and the device's rate for such a call.
algorithms::PipelineModel model_of(const Execution& execution,
                                   const client::AcquiredDevice& acquired, const RoutineCall& call);

/// Models each of the devices that share the work of one call. What was observed of the routine is
/// a factor of a device's own figure, which tells the devices apart.
std::vector<algorithms::PipelineModel> models_of(const Execution& execution, Devices devices,
                                                 const RoutineCall& call);

}  // namespace ob::offload
