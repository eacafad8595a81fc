#pragma once
// Singular values by cuSOLVER's gesvd, which takes tall matrices only.

#include "backend/cuda/lapack_steps.hpp"

namespace ob::cuda {

/// True for all calls except those whose vectors replace A.
bool gesvd_takes(const Argument* arguments);
bool gesdd_takes(const Argument* arguments);

/// Runs the routine.   Errors: as run_lapack
/// @pre gesvd_takes(arguments), or gesdd_takes(arguments)
LapackSteps::Info gesvd(LapackSteps& steps, const Argument* arguments);
LapackSteps::Info gesdd(LapackSteps& steps, const Argument* arguments);

}  // namespace ob::cuda
