#pragma once
// cuSOLVER's dense part, as a table of its functions.

#include <cusolverDn.h>

#include <string_view>

#include "backend/cuda/library.hpp"
#include "backend/cuda/solver_rows.hpp"

#define OB_CUSOLVER_FUNCTIONS(X) \
  X(cusolverDnCreate)            \
  X(cusolverDnCreateParams)      \
  X(cusolverDnDestroy)           \
  X(cusolverDnDestroyParams) X(cusolverDnSetDeterministicMode) X(cusolverDnSetStream)

namespace ob::cuda {

/// Threads: any; a handle belongs to one at a time
struct SolverTable {
  OB_CUSOLVER_FUNCTIONS(OB_CUDA_MEMBER)
  OB_CUSOLVER_ROW_FUNCTIONS(OB_CUDA_MEMBER)  ///< nullptr if this version of the library lacks it

  /// Errors: unavailable, if there is no library or it lacks a function
  static Result<SolverTable> open();

  /// Converts the result of a call to a Status `what: why`.
  /// Errors: out_of_memory; unsupported; device_error
  Status check(cusolverStatus_t result, std::string_view what) const;
};

}  // namespace ob::cuda
