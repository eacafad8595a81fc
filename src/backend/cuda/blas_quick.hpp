#pragma once
// Calls of the BLAS that compute no product: the reference's rules, so that they do not depend on
// what a library makes of them.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// True if nothing is left to do: empty results, sums over nothing, and alpha = 0, for which A and
/// B are not read (a NaN there has no influence) and beta = 0 clears C whatever it held.
/// Memory: operands on the device   Errors: unavailable without driver or compiler; device_error
Result<bool> quick_return(StreamContext& context, const Descriptor& routine,
                          const Argument* arguments, const Operands& operands);

/// The kernels' number for a triangle.   @pre not a strict one
int triangle_code(Triangle triangle) noexcept;

}  // namespace ob::cuda
