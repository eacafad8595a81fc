#pragma once
// Singular values by cuSOLVER's gesvd, which takes tall matrices only.

#include "backend/cuda/lapack_steps.hpp"

namespace ob::cuda {

/// All but those whose vectors replace A.
bool gesvd_takes(const Argument* arguments);
bool gesdd_takes(const Argument* arguments);

/// @pre gesvd_takes(arguments)   Errors: as run_lapack
LapackSteps::Info gesvd(LapackSteps& steps, const Argument* arguments);
LapackSteps::Info gesdd(LapackSteps& steps, const Argument* arguments);

}  // namespace ob::cuda
