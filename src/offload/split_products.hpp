#pragma once
// One product, or another call that can be split into independent parts, on several devices.

#include <optional>

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"
#include "offload/execution.hpp"

namespace ob::offload {

/// True if the call may run on several devices: Config::devices allows it, and it can be split.
bool may_be_split(const Config& config, const RoutineCall& call);

/// Runs the call on the acquired device and others beside it, if the model and the measurements
/// show that more devices are faster. Empty: one device must run the whole call, because it is as
/// fast, or because another one failed permanently. A part whose device fails runs again on another
/// one. Memory that the call reads does not change before all parts have arrived.
/// Threads: the caller's and, while it lasts, one more for each further device
/// Errors: those of run_on_device()
/// @pre may_be_split(execution.config, call), !execution.strict()
std::optional<Status> split_product(const Execution& execution, client::AcquiredDevice& first,
                                    const RoutineCall& call, algorithms::CallTimings& timings);

/// Records the time of the call on the acquired device alone.
/// @pre may_be_split(execution.config, call)
void record_run_alone(client::AcquiredDevice& acquired, const RoutineCall& call, double seconds);

}  // namespace ob::offload
