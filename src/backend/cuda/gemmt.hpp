#pragma once
// gemmt (gemmtr), which cuBLAS lacks: one triangle of a product.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

bool is_gemmt(const Descriptor& routine) noexcept;

/// Submits products of whole blocks; those on the diagonal go through workspace, so that the other
/// triangle stays as it is.
/// @pre is_gemmt(routine) && n > 0   Errors: as run_blas
Status run_gemmt(StreamContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::cuda
