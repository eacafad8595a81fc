#pragma once
// Rows of the BLAS by CLBlast.

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// True if CLBlast is installed and can run this call: it has the function, the device has fp64 for
/// double precision, and the operands are within the 32-bit indices of the kernels.
/// Memory: operands on the device
bool blas_takes(const QueueContext& context, const Descriptor& routine, const Argument* arguments);

/// Runs a call to its end with the reference's rules for empty operands, alpha = 0 and beta = 0.
/// Memory: operands on the device, aligned to their elements; CLBlast's own memory counts against
///         the device's cap while the call runs
/// Errors: out_of_memory, then nothing was computed; device_error
/// @pre blas_takes(context, routine, arguments)
Status run_blas(QueueContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
