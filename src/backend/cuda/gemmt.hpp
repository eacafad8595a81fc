#pragma once
// gemmt (gemmtr), which cuBLAS lacks: one triangle of a product.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Submits products of whole blocks (device/blocked_gemmt.hpp).   Errors: as run_cublas
/// @pre is_gemmt(routine) && gemmt_order(arguments) > 0
Status run_gemmt(StreamContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::cuda
