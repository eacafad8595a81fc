#pragma once
// The operation `permute` of devices (routines/block.toml).

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"

namespace ob::cuda {

/// Submits B := alpha A permuted + beta B.   Errors: unavailable without the kernels; device_error
/// @param arguments those of a legal call of permute, operands as addresses of the device
Status run_permute(StreamContext& context, const Argument* arguments);

}  // namespace ob::cuda
