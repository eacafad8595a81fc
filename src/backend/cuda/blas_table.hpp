#pragma once
// cuBLAS, as a table of its functions.

#include <cublas_v2.h>

#include <string_view>
#include "backend/cuda/blas_rows.hpp"

#include "backend/cuda/library.hpp"

#define OB_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate)              \
  X(cublasDestroy)             \
  X(cublasGetStatusString)     \
  X(cublasSetAtomicsMode)      \
  X(cublasSetMathMode)         \
  X(cublasSetPointerMode)      \
  X(cublasSetStream) X(cublasSgeam_64) X(cublasDgeam_64) X(cublasCgeam_64) X(cublasZgeam_64)

namespace ob::cuda {

/// Threads: any; a handle belongs to one at a time
struct BlasTable {
  OB_CUBLAS_FUNCTIONS(OB_CUDA_MEMBER)
#define OB_CUDA_ROW_MEMBER(routine, function) OB_CUDA_MEMBER(function)
  OB_CUBLAS_ROWS(OB_CUDA_ROW_MEMBER)  ///< nullptr if this version of the library lacks it
#undef OB_CUDA_ROW_MEMBER

  /// Errors: unavailable, if there is no library or it lacks a function
  static Result<BlasTable> open();

  /// Converts the result of a call to a Status `what: why`.   Errors: out_of_memory; device_error
  Status check(cublasStatus_t result, std::string_view what) const;
};

}  // namespace ob::cuda
