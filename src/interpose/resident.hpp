#pragma once
// What this process keeps with a connection: operands that stay on its device, and the schedules of
// products, which decide how operands are cut and must not change from call to call.

#include <cstdint>

#include "algorithms/gemm_schedule.hpp"
#include "algorithms/residency.hpp"
#include "client/device_pool.hpp"
#include "interpose/settings.hpp"

namespace ob::interpose {

/// The copies kept over this connection; nullptr if OUTBOARD_RESIDENT forbids any.
/// @param link of the connection's server; unknown rates count as slow
/// Threads: as the lease   Memory: lives as long as the connection
algorithms::Residency* residency_of(client::Lease& lease, const Settings& settings,
                                    const Link& link);

/// The schedule that products of this shape have over this connection, chosen by the first
/// model that was known.   Threads, memory: as above
const algorithms::ProductSchedule& schedule_of(client::Lease& lease,
                                               const algorithms::ProductShape& shape,
                                               const algorithms::PipelineModel& model);

}  // namespace ob::interpose
