#pragma once
// Rows of the BLAS, each by one function of CLBlast.

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// True if CLBlast has a function for the row.
bool clblast_has(const Descriptor& routine) noexcept;

/// Submits a call with the reference's rules for empty operands, alpha = 0 and beta = 0.
/// Memory: operands on the device, aligned to their elements; the scratch memory that CLBlast
///         allocates (blas_scratch_bytes()) is set aside until the queue has passed the call
/// Errors: device_error
/// @pre clblast_has(routine)
Status submit_clblast(QueueContext& context, const Descriptor& routine, const Argument* arguments);

/// Writes the results that need no product, as the reference does.   Errors: device_error
/// @returns true if nothing is left to do
Result<bool> return_quickly(QueueContext& context, const Descriptor& routine,
                            const Argument* arguments);

}  // namespace ob::opencl
