#pragma once
// Factorizations on several devices, and of matrices larger than a device's memory.

#include <optional>

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"
#include "offload/execution.hpp"

namespace ob::offload {

/// Runs the factorization on the acquired device and on others, if Config::devices allows it and a
/// gain is predicted. It runs slab after slab if the memory of the devices does not suffice. Panels
/// go from device to device if the devices can reach each other and that gains, otherwise through
/// this process. Empty: the acquired device is to run the call as one routine.
/// Memory: a device that fails ends the attempt; the caller's memory has not changed then
/// Errors: those of run_on_device()
/// @pre algorithms::can_be_factored(call.routine), as for the next one
std::optional<Status> factor_on_several(const Execution& execution, client::AcquiredDevice& first,
                                        const RoutineCall& call, algorithms::CallTimings& timings);

/// Runs a call slab after slab with a part of the device's memory, after the device could not
/// provide all of the expected memory.   Errors: those of run_on_device()
Status factor_with_little(const Execution& execution, client::AcquiredDevice& acquired,
                          const RoutineCall& call, algorithms::CallTimings& timings);

}  // namespace ob::offload
