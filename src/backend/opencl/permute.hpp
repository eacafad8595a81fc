#pragma once
// The operation `permute` of devices (routines/block.toml).

#include "backend/opencl/queue_context.hpp"
#include "routines/argument.hpp"

namespace ob::opencl {

/// B := alpha A permuted + beta B.   Errors: device_error
/// @param arguments those of a legal call of permute, operands on the device
/// @pre context.accelerator.has_fp64
Status run_permute(QueueContext& context, const Argument* arguments);

}  // namespace ob::opencl
