#pragma once
// The common part of cuSOLVER's functions for any type: matching types, parameters, and workspaces
// on both sides.

#include <initializer_list>

#include "cusolver/call.hpp"
#include "cusolver/parameters.hpp"

namespace standin::solver {

class AnyCall : public Call {
 public:
  /// Workspace on the host. It is not zero, so that a caller must provide it.
  static constexpr std::size_t kHostBytes = 64;

  AnyCall(const char* name, cusolverDnHandle_t handle, cusolverDnParams_t params,
          std::initializer_list<cudaDataType> types)
      : Call(name, handle) {
    need(params == nullptr || parameters().find(params) != nullptr, "parameters");
    for (const cudaDataType type : types) need(type == *types.begin(), "one type for all");
  }
  /// The constructor for calls with real results: norms, eigenvalues.
  AnyCall(const char* name, cusolverDnHandle_t handle, cusolverDnParams_t params,
          std::initializer_list<cudaDataType> types, cudaDataType real)
      : AnyCall(name, handle, params, types) {
    need(real == real_of(*types.begin()), "the real type of the others");
  }

  void workspaces(std::int64_t elements, std::size_t element_bytes, void* device,
                  std::size_t device_bytes, void* host, std::size_t host_bytes) {
    workspace(device, device_bytes, elements * element_bytes);
    host_workspace(host, host_bytes, kHostBytes);
  }

  /// Returns the workspace sizes of an m x n problem.
  cusolverStatus_t answer(cudaDataType type, std::int64_t m, std::int64_t n,
                          std::size_t* device_bytes, std::size_t* host_bytes) const {
    if (!good()) return status();
    return of_type(type, CUSOLVER_STATUS_INVALID_VALUE, [&](auto zero) {
      *device_bytes = work_elements(m, n) * sizeof zero;
      *host_bytes = kHostBytes;
      return CUSOLVER_STATUS_SUCCESS;
    });
  }
};

}  // namespace standin::solver
