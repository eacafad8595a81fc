#pragma once
// Rows of the BLAS, by cuBLAS.

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// True if cuBLAS has a function for the row, or several together compute it (gemmt).
bool blas_has(const Descriptor& routine) noexcept;

/// Submits a call, as run_cublas() does.
/// @pre blas_has(routine)
Status run_blas(StreamContext& context, const Descriptor& routine, const Argument* arguments);

}  // namespace ob::cuda
