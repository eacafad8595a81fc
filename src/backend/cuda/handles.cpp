#include "backend/cuda/handles.hpp"

namespace ob::cuda {

Handles::~Handles() {
  if (blas_ != nullptr) (void)(*libraries_.blas())->cublasDestroy(blas_);
  if (solver_params_ != nullptr)
    (void)(*libraries_.solver())->cusolverDnDestroyParams(solver_params_);
  if (solver_ != nullptr) (void)(*libraries_.solver())->cusolverDnDestroy(solver_);
}

Result<cublasHandle_t> Handles::blas() {
  if (blas_ != nullptr) return blas_;
  OB_ASSIGN_OR_RETURN(const BlasTable* table, libraries_.blas());
  cublasHandle_t handle = nullptr;
  OB_RETURN_IF_ERROR(table->check(table->cublasCreate(&handle), "cublasCreate"));
  blas_ = handle;
  OB_RETURN_IF_ERROR(table->check(table->cublasSetStream(blas_, stream_), "cublasSetStream"));
  // This is the default. It is set nevertheless, because the order of sums, and so the results,
  // must not vary.
  OB_RETURN_IF_ERROR(table->check(table->cublasSetAtomicsMode(blas_, CUBLAS_ATOMICS_NOT_ALLOWED),
                                  "cublasSetAtomicsMode"));
  return blas_;
}

Result<cusolverDnHandle_t> Handles::solver() {
  if (solver_ != nullptr) return solver_;
  OB_ASSIGN_OR_RETURN(const SolverTable* table, libraries_.solver());
  cusolverDnHandle_t handle = nullptr;
  OB_RETURN_IF_ERROR(table->check(table->cusolverDnCreate(&handle), "cusolverDnCreate"));
  solver_ = handle;
  OB_RETURN_IF_ERROR(
      table->check(table->cusolverDnSetStream(solver_, stream_), "cusolverDnSetStream"));
  return solver_;
}

Result<cusolverDnParams_t> Handles::solver_params() {
  if (solver_params_ != nullptr) return solver_params_;
  OB_ASSIGN_OR_RETURN(const SolverTable* table, libraries_.solver());
  cusolverDnParams_t params = nullptr;
  OB_RETURN_IF_ERROR(
      table->check(table->cusolverDnCreateParams(&params), "cusolverDnCreateParams"));
  solver_params_ = params;
  return solver_params_;
}

Result<const Kernels*> Handles::kernels(int device) {
  if (kernels_ == nullptr) {
    OB_ASSIGN_OR_RETURN(kernels_, Kernels::create(libraries_, device));
  }
  return static_cast<const Kernels*>(kernels_.get());
}

}  // namespace ob::cuda
