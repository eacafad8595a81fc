#pragma once
// The requests of the program that are under way.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ob::overlap {

/// A call of the program that starts operations.
struct Call {
  const char* function = "";
  std::int64_t begin_ns = 0;  ///< 0 without a trace
  int thread = 0;
  bool is_written = false;  ///< another operation of the call has written its span
};

/// One operation between its start and the call that completes it.
struct Operation {
  MPI_Request request = MPI_REQUEST_NULL;
  std::int64_t bytes = 0;
  int peer = MPI_PROC_NULL;  ///< the other end of a message
  Call call;
  std::int64_t start_ns = 0;
  std::int64_t done_ns = 0;  ///< the time when the driver saw it complete; 0: not yet
  bool driven = false;       ///< the driver made progress for it
  bool is_asked = false;     ///< the driver may ask MPI whether it is done
  bool runs_code = false;    ///< progress runs code of the program: an MPI_Op that it made
};

/// Makes progress for requests without completing them. A request is looked at under the lock, and
/// it leaves the table before MPI may complete or free it. So the driver never uses a request that
/// has ended. Threads: any.
class Operations {
 public:
  /// Makes the request that drive() uses where it must not ask about those of the program.
  /// Returns false if MPI makes none. Must run after MPI_Init.
  bool open() noexcept;
  /// Ends that request. Must run before MPI_Finalize, and after the last drive().
  void close() noexcept;

  /// Stops drive() until release(), because an operation starts whose progress runs code of the
  /// program. Returns when no other thread is in drive().
  void hold() noexcept;
  void release() noexcept;

  /// Adds an operation that has started. It is left out if there is no memory.
  void add(const Operation& operation) noexcept;
  /// Removes the operation of `request`. Returns true and sets `taken` if there was one.
  bool take(MPI_Request request, Operation& taken) noexcept;
  /// Looks at operations that are under way, at most `kMost`. Each look is a call of MPI that makes
  /// progress for all of them. Does nothing while hold() is in force.
  void drive() noexcept;

  /// Returns the number of operations that are not known to be done.
  int moving() const noexcept { return moving_.load(std::memory_order_relaxed); }
  /// Returns their bytes.
  std::int64_t moving_bytes() const noexcept {
    return moving_bytes_.load(std::memory_order_relaxed);
  }
  int count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kMost = 64;  ///< looks before the lock is given back
  void counted() noexcept { count_.store(int(operations_.size()), std::memory_order_relaxed); }
  void moves(const Operation& operation, int more) noexcept {
    moving_.fetch_add(more, std::memory_order_relaxed);
    moving_bytes_.fetch_add(more * operation.bytes, std::memory_order_relaxed);
  }

  std::mutex lock_;
  MPI_Request open_request_ = MPI_REQUEST_NULL;  ///< it is never complete
  int held_ = 0;
  std::unordered_map<std::uintptr_t, Operation> operations_;
  std::atomic<int> moving_{0};
  std::atomic<std::int64_t> moving_bytes_{0};
  std::atomic<int> count_{0};
};

}  // namespace ob::overlap
