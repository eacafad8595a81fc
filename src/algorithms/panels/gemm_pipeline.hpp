#pragma once
// Runs a matrix product whose operands are transferred while the device computes.

#include <vector>

#include "algorithms/call_context.hpp"
#include "algorithms/panels/gemm_schedule.hpp"
#include "algorithms/residency/residency.hpp"
#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// Reads the shape of a product from the arguments of gemm.
ProductShape product_shape(const Descriptor& gemm, const Argument* arguments);

/// Returns the blocks of A and B that offload_product() places on the device.
std::vector<PlacedOperand> product_operands(const Descriptor& gemm, const Argument* arguments,
                                            const ProductSchedule& schedule);

/// Runs gemm by `schedule`. C is not sent. If beta is not 0, the host adds beta C after the whole
/// product has arrived.
/// Memory, threads, errors: as offload_call()
/// Cost: device memory for A, B and C; if beta is not 0, also host memory for a copy of C
/// @param schedule is made for product_shape(gemm, arguments)
/// @pre gemm.legal(arguments, lds) && !gemm.trivial(arguments)
Status offload_product(const CallContext& context, const ProductSchedule& schedule);

}  // namespace ob::algorithms
