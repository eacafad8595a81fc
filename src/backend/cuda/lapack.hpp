#pragma once
// LAPACK on the device, with functions of cuSOLVER and compositions of them.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// True if run_lapack() can run the call; otherwise the processor does. The answer depends on flags
/// and dimensions: for example, cuSOLVER's gesvd takes no wide matrices.
bool lapack_takes(const Descriptor& routine, const Argument* arguments);

/// Runs a call and waits for its info.
/// Memory: operands on the device, complex ones aligned to their size
/// @pre lapack_takes(routine, arguments)
/// Errors: unavailable without the library; unsupported if this version lacks a function;
/// out_of_memory; device_error
Status run_lapack(StreamContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::cuda
