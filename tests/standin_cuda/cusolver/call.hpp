#pragma once
// One call of cuSOLVER: its handle, its operands, its workspace and its info.

#include <cusolverDn.h>
#include <algorithm>
#include <cstddef>

#include <vector>

#include "core/library_call.hpp"
#include "core/numbers.hpp"
#include "cublas/flags.hpp"

namespace standin::solver {

/// The object behind a cusolverDnHandle_t.
struct Handle : LibraryHandle {
  cusolverDeterministicMode_t deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
};

struct Library {
  using Handle = solver::Handle;
  using Status = cusolverStatus_t;
  static constexpr Status kSuccess = CUSOLVER_STATUS_SUCCESS;
  static constexpr Status kNotInitialized = CUSOLVER_STATUS_NOT_INITIALIZED;
  static constexpr Status kInvalidValue = CUSOLVER_STATUS_INVALID_VALUE;
  static constexpr Status kNotSupported = CUSOLVER_STATUS_NOT_SUPPORTED;
  static constexpr Status kExecutionFailed = CUSOLVER_STATUS_EXECUTION_FAILED;
  static constexpr Status kAllocFailed = CUSOLVER_STATUS_ALLOC_FAILED;
  static constexpr Status kFault = CUSOLVER_STATUS_INTERNAL_ERROR;
  static LiveSet<Handle>& handles();
};

/// Returns the size of a workspace. Queries and calls use the same formula, so that a workspace
/// that is too small is detected.
inline std::int64_t work_elements(std::int64_t m, std::int64_t n) { return 32 + 2 * (m + n); }

class Call : public LibraryCall<Library> {
 public:
  using LibraryCall::LibraryCall;

  /// Checks the device workspace: the work may use `wanted` of the `given` bytes. Poisons it first.
  void workspace(void* p, std::size_t given, std::size_t wanted);
  /// Does the same for the workspace on the host.
  void host_workspace(void* p, std::size_t given, std::size_t wanted);
  /// Returns the device memory in which the work stores LAPACK's info.
  int* info(int* p) { return access.out(p, 1); }

  cusolverStatus_t submit(std::function<void()> work);

 private:
  std::byte* spoilt_ = nullptr;
  std::size_t spoilt_bytes_ = 0;
};

/// Runs a LAPACK routine with the workspace that it asks for. The call is f(work, lwork); lwork =
/// -1 is the query.
template <class T, class F>
void with_workspace(F f) {
  T answer{};
  f(&answer, -1);
  std::vector<T> work(static_cast<std::size_t>(std::real(answer)) + 1);
  f(work.data(), static_cast<int>(work.size()));
}

/// Fills both triangles of an n x n matrix. cuSOLVER 12 was seen to do so where it returns no
/// eigenvectors; the reference leaves one triangle as it is.
template <class T>
void fill_matrix(int n, T* a, int lda) {
  for (std::ptrdiff_t j = 0; j < n; ++j) std::fill_n(a + j * lda, n, T(-1));
}

}  // namespace standin::solver
