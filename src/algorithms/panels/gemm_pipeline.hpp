#pragma once
// A matrix product whose operands travel while the device computes.

#include "algorithms/call_context.hpp"
#include "algorithms/panels/gemm_schedule.hpp"
#include "base/status.hpp"
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
/// @pre gemm.legal(arguments, lds) && !gemm.trivial(arguments)
Status offload_product(const CallContext& context, const ProductSchedule& schedule);

}  // namespace ob::algorithms
