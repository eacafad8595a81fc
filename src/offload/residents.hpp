#pragma once
// What this process keeps with a connection: operands that stay on its device, and the schedules of
// large calls, which decide how operands are cut and must not change from call to call.

#include <cstdint>

#include "algorithms/panels/gemm_schedule.hpp"
#include "algorithms/panels/panel_schedule.hpp"
#include "algorithms/residency/residency.hpp"
#include "client/connection_cache.hpp"
#include "offload/device_trials.hpp"
#include "offload/state.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// The copies kept over this connection; nullptr if OUTBOARD_RESIDENT forbids any. Unknown rates of
/// the link count as slow.
/// Threads: as the acquired   Memory: lives as long as the connection
algorithms::Residency* residency_of(State& state, client::AcquiredDevice& acquired);

/// Frees all that the connection keeps on the device between calls, as far as no call uses it.
/// @returns false if that was nothing, or the connection is broken   Threads: as the acquired
bool release_kept(client::AcquiredDevice& acquired);

/// Of what the call reads, bytes that are expected to be on the device of an idle connection to
/// `server` already; 0 if nothing is known.   Threads: any
double bytes_there(State& state, std::size_t server, const Descriptor& routine,
                   const Argument* arguments) noexcept;

/// How such calls are split over this device and others.   Threads, memory: as above
DeviceTrials& trials_kept(client::AcquiredDevice& acquired, const Descriptor& routine,
                          const Argument* arguments);

/// The schedule that products of this shape have over this connection, chosen by the first
/// model that was known.   Threads, memory: as above
const algorithms::ProductSchedule& schedule_of(client::AcquiredDevice& acquired,
                                               const algorithms::ProductShape& shape,
                                               const algorithms::PipelineModel& model);
/// The same of other routines: rates differ, so each has its own.
const algorithms::PanelSchedule& schedule_of(client::AcquiredDevice& acquired,
                                             const Descriptor& routine,
                                             const algorithms::PanelShape& shape,
                                             const algorithms::PipelineModel& model);

}  // namespace ob::offload
