#pragma once
// One call of the program on several devices.

#include <optional>

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"
#include "offload/state.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// Runs the call on the acquired device and others beside it, if OUTBOARD_DEVICES allows, the
/// routine can be cut and the model says that more devices are faster. Empty: one device is to do
/// it all, because it is as fast, or because another one failed for good. A part whose device fails
/// runs again on another one; nothing that the call reads changes before all parts are in hand.
/// Threads: the caller's and, while it lasts, one more for each further device
/// Errors: those of offload()
std::optional<Status> run_on_several(State& state, client::AcquiredDevice& first,
                                     const Descriptor& routine, const Argument* arguments,
                                     algorithms::CallTimings& timings);

/// Runs the call on the acquired device alone, and remembers what that took.
/// Errors: those of offload()
Status run_on_one(State& state, client::AcquiredDevice& acquired, const Descriptor& routine,
                  const Argument* arguments, algorithms::CallTimings& timings);

}  // namespace ob::offload
