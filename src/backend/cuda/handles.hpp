#pragma once
// Handles of NVIDIA's libraries, and the kernels of this backend, for one stream.

#include <memory>

#include "backend/cuda/kernels.hpp"
#include "backend/cuda/libraries.hpp"

namespace ob::cuda {

/// Handles are made on first use, on the stream, with the device that is current then. Each stream
/// has its own handles, and so its own workspaces of the libraries. Otherwise the same call may
/// give different bits.
/// Threads: the one that submits
class Handles {
 public:
  Handles(const Libraries& libraries, cudaStream_t stream)
      : libraries_(libraries), stream_(stream) {}
  ~Handles();
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// Errors: unavailable; device_error
  Result<cublasHandle_t> blas();
  Result<cusolverDnHandle_t> solver();
  Result<cusolverDnParams_t> solver_params();
  /// @param device the device of the stream
  Result<const Kernels*> kernels(int device);

 private:
  const Libraries& libraries_;
  const cudaStream_t stream_;
  cublasHandle_t blas_ = nullptr;
  cusolverDnHandle_t solver_ = nullptr;
  cusolverDnParams_t solver_params_ = nullptr;
  std::unique_ptr<Kernels> kernels_;
};

}  // namespace ob::cuda
