#pragma once
// A matrix product whose operands travel while the device computes.

#include "algorithms/call_timings.hpp"
#include "algorithms/panels/gemm_schedule.hpp"
#include "algorithms/residency/residency.hpp"
#include "algorithms/tiles/commit_gate.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Of a gemm's arguments.
ProductShape product_shape(const Descriptor& gemm, const Argument* arguments);

/// Runs gemm by `schedule`. C is not sent: where beta is not 0, beta C is added here once the whole
/// product is in hand.
/// Memory, threads, errors: as offload_call()   Cost: device memory for A, B and C; for beta
/// not 0 as much as C on this side, too
/// @param schedule of product_shape(gemm, arguments)
/// @param commits if it is a part of a call
/// @pre gemm.legal(arguments, lds) && !gemm.trivial(arguments)
Status offload_product(Device& device, QueueId queue, const Descriptor& gemm,
                       const Argument* arguments, const ProductSchedule& schedule,
                       Residency* residency, CallTimings& timings, Commits* commits = nullptr);

}  // namespace ob::algorithms
