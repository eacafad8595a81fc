#pragma once
// gemmt (gemmtr), which cuBLAS lacks: one triangle of a product.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Submits products of whole blocks.   @pre is_gemmt(routine) && n > 0   Errors: as run_cublas
Status run_gemmt(StreamContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::cuda
