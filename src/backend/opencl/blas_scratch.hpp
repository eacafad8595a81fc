#pragma once
// The device memory that CLBlast allocates beside the operands of a call.

#include <cstdint>

#include "backend/opencl/blas_table.hpp"
#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// Returns the largest number of bytes that a call has allocated at any time. CLBlast itself
/// reports the memory of a product. It has copies of the operands that its kernels want padded or
/// transposed, and none for small products. The other rows make copies of their own and then
/// products.
/// @param arguments the arguments of a call that blas_takes() accepts   Errors: device_error
/// Source: CLBlast 1.5.3, src/routines/level3
Result<std::uint64_t> blas_scratch_bytes(const BlasTable& table, const QueueContext& context,
                                         const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
