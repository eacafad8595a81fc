#include "backend/cuda/runtime.hpp"

namespace ob::cuda {
namespace {

Code code_of(cudaError_t result) {
  switch (result) {
    case cudaErrorMemoryAllocation: return Code::out_of_memory;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInitializationError:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch: return Code::unavailable;
    default: return Code::device_error;
  }
}

}  // namespace

Result<Runtime> Runtime::open() {
  OB_ASSIGN_OR_RETURN(const Library library,
                      Library::open("libcudart.so." + std::to_string(CUDART_VERSION / 1000)));
  Runtime table;
  const char* missing = nullptr;
  OB_CUDART_FUNCTIONS(OB_CUDA_FILL);
  if (missing != nullptr) return library.lacks(missing);
  return table;
}

Status Runtime::check(cudaError_t result, const char* what) const {
  if (result == cudaSuccess) return {};
  (void)cudaGetLastError();
  return {code_of(result), std::string(what) + ": " + cudaGetErrorString(result) + " (" +
                               cudaGetErrorName(result) + ")"};
}

}  // namespace ob::cuda
