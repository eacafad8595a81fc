#pragma once
// Chooses the place of a call that leaves the process: the acquired device, or several devices.

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"
#include "offload/execution.hpp"

namespace ob::offload {

/// Runs the call on the acquired device, and on others beside it where that is faster.
/// Memory: memory that the call reads does not change before all results have arrived
/// Threads: the caller's and, while it lasts, one more for each further device
/// Errors: those of run_on_device()
Status run_placed(const Execution& execution, client::AcquiredDevice& acquired,
                  const RoutineCall& call, algorithms::CallTimings& timings);

}  // namespace ob::offload
