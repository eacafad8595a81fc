#pragma once
// One call of the program that may complete requests.

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "overlap/programs/layer.hpp"

namespace ob::overlap {

/// Takes the operations of a call out of the driver's sight before the call, and accounts for
/// those that it completed. Operations that go on are given back.
class Completion {
 public:
  /// @param place the return address of the call
  /// @param tests the call returns at once, so that the driver goes on with other requests
  Completion(std::uintptr_t place, const char* function, bool tests) noexcept;
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  /// Adds the request with the number `index` of the call. The handle lies at `at`, in the form of
  /// C or of Fortran.
  void add(int index, const MPI_Request* at) noexcept { take(index, *at, at, nullptr, 0); }
  void add_fortran(int index, const MPI_Fint* at) noexcept {
    take(index, PMPI_Request_f2c(*at), nullptr, at, *at);
  }
  /// The call has completed all requests, or those with these numbers. Without either, none.
  void finish_all() noexcept { finish(nullptr, 0, 0, true); }
  /// @param first the number of the first request: 0 in C, 1 in Fortran
  void finish(const int* indices, int count, int first = 0) noexcept {
    finish(indices, count, first, false);
  }
  /// The call failed. What its requests do is not known, and they are left alone. If one of them
  /// runs code of the program, the driver rests for good.
  void fail() noexcept { taken_.clear(); }

 private:
  struct Taken {
    int index;
    const MPI_Request* at;       ///< or null
    const MPI_Fint* at_fortran;  ///< or null
    MPI_Fint before;             ///< the handle of Fortran
    Operation operation;

    /// Returns true if the program still has the handle. MPI replaces the handle of a request that
    /// has ended by MPI_REQUEST_NULL, unless the request is persistent.
    bool is_held() const noexcept {
      return at != nullptr ? *at == operation.request : *at_fortran == before;
    }
  };
  void take(int index, MPI_Request request, const MPI_Request* at, const MPI_Fint* at_fortran,
            MPI_Fint before) noexcept;
  void finish(const int* indices, int count, int first, bool all) noexcept;
  void trace(const CallSite& call, std::int64_t now, std::span<const Taken> done) noexcept;

  Layer& layer_;
  const std::uintptr_t place_;
  const char* const function_;
  const bool tests_;
  std::int64_t arrived_ns_ = 0;
  std::vector<Taken> taken_;
};

}  // namespace ob::overlap
