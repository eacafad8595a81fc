#pragma once
// One call of cuSOLVER: its handle, its operands, its workspace, what it reports.

#include <cusolverDn.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/access.hpp"
#include "core/live_set.hpp"
#include "core/numbers.hpp"
#include "core/stream.hpp"
#include "cublas/flags.hpp"

namespace standin::solver {

/// What a cusolverDnHandle_t is. Of the device that was current when it was made.
struct Handle {
  int device = 0;
  cudaStream_t stream = nullptr;
  cusolverDeterministicMode_t deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
  std::atomic<int> users{0};  ///< threads inside of a call with it
};

LiveSet<Handle>& handles();

/// What a workspace has to have: the same formula tells it and wants it, so that too little is
/// seen.
inline std::int64_t work_elements(std::int64_t m, std::int64_t n) { return 32 + 2 * (m + n); }

/// Lives as long as the function that it belongs to. The first broken rule decides the status.
class Call {
 public:
  Call(const char* name, cusolverDnHandle_t handle);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// An argument that cuSOLVER refuses, too.
  void need(bool condition, const char* what);
  /// Handed to LAPACK, whose integers have 32 bits.
  int size(std::int64_t n);
  /// The device's memory that the work may use: `wanted` of the `given` bytes. Spoilt first.
  void workspace(void* p, std::size_t given, std::size_t wanted);
  /// Likewise, of the host.
  void host_workspace(void* p, std::size_t given, std::size_t wanted);
  /// Where the work says how it went, in the device's memory.
  int* info(int* p) { return access.out(p, 1); }

  bool good() const noexcept { return status_ == CUSOLVER_STATUS_SUCCESS && access.ok(); }
  cusolverStatus_t submit(std::function<void()> work);
  cusolverStatus_t status() const noexcept {
    return access.ok() ? status_ : CUSOLVER_STATUS_EXECUTION_FAILED;
  }

 private:
  static int device_of(cusolverDnHandle_t handle);

  const std::shared_ptr<Handle> handle_;
  cusolverStatus_t status_ = CUSOLVER_STATUS_SUCCESS;
  std::shared_ptr<Stream> stream_;
  std::byte* spoilt_ = nullptr;
  std::size_t spoilt_bytes_ = 0;

 public:
  Access access;  ///< the operands
};

/// Runs a LAPACK routine with as much workspace as it asks for. The routine is called as
/// f(work, lwork), lwork = -1 being the question.
template <class T, class F>
void with_workspace(F f) {
  T answer{};
  f(&answer, -1);
  std::vector<T> work(static_cast<std::size_t>(std::real(answer)) + 1);
  f(work.data(), static_cast<int>(work.size()));
}

}  // namespace standin::solver
