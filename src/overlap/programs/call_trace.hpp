#pragma once
// The trace of the program's calls of MPI.

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "base/trace.hpp"
#include "overlap/clock.hpp"
#include "overlap/programs/call_sites.hpp"
#include "overlap/programs/operations.hpp"

namespace ob::overlap {

/// Writes spans of the calls that start and complete operations, and an arrow from the one to the
/// other for each operation. Without a trace each function is one branch.   Threads: any
class CallTrace {
 public:
  explicit CallTrace(const std::string& path) : trace_(path) {}

  bool wanted() const noexcept { return trace_.wanted(); }
  void name_rank(int rank) { trace_.name_process("rank " + std::to_string(rank)); }
  /// Notes that the program calls a function that starts operations.
  Call call(const char* function) const noexcept {
    return wanted() ? Call{function, now_ns(), trace_thread()} : Call{};
  }
  /// The function has started an operation.
  void started(const Operation& operation) noexcept {
    if (wanted()) note_start(operation);
  }
  /// A call has completed these operations.
  void completed(std::uintptr_t place, const CallSite& call, std::int64_t end_ns,
                 std::span<const Operation> operations) noexcept;

 private:
  void note_start(const Operation& operation) noexcept;
  /// Returns e.g. "solver+0x1d2c", as the report does.
  const std::string& site(std::uintptr_t place);

  Trace trace_;
  std::mutex lock_;
  std::map<std::uintptr_t, std::string> sites_;
};

}  // namespace ob::overlap
