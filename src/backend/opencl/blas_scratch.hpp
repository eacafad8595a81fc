#pragma once
// What CLBlast allocates on the device beside the operands of a call.

#include <cstdint>

#include "backend/opencl/blas_table.hpp"
#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// At most so many bytes at a time, over the whole call. Of a product CLBlast says itself what it
/// takes: copies of operands that its kernels want padded or transposed, nothing for small ones.
/// The other rows make copies of their own and then products.
/// @pre blas_takes(...)   Errors: device_error
/// Source: CLBlast 1.5.3, src/routines/level3
Result<std::uint64_t> blas_scratch_bytes(const BlasTable& table, const QueueContext& context,
                                         const Descriptor& routine, const Argument* arguments);

}  // namespace ob::opencl
