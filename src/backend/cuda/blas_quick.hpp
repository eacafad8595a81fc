#pragma once
// Calls of the BLAS that compute no product, by kernels.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Submits the remaining work of such a call (device/quick_return.hpp). True if that was all.
/// Memory: operands on the device   Errors: unavailable without driver or compiler; device_error
Result<bool> return_quickly(StreamContext& context, const Descriptor& routine,
                            const Argument* arguments, const Operands& operands);

/// Returns the kernels' number for a triangle, which must not be a strict one.
int triangle_code(Triangle triangle) noexcept;

}  // namespace ob::cuda
