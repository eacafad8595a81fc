#pragma once
// FFTW's legacy Fortran interface as the emitted entries see it.

#include <array>

#include "interpose/fftw_problem.hpp"

namespace ob::interpose {

/// Lengths in C's order (slowest first) from an array in Fortran's (fastest first).
class ReversedInts {
 public:
  ReversedInts(const int* values, int count) noexcept {
    for (int i = 0; i < count && count <= FftwProblem::kMaxRank; ++i)
      reversed_[i] = values[count - 1 - i];
  }
  /// The reversed lengths. They are zeros if there are more than any problem has, and the problem
  /// is then not representable.
  const int* data() const noexcept { return reversed_.data(); }

 private:
  std::array<int, FftwProblem::kMaxRank> reversed_{};
};

/// The dimensions of a guru call, which Fortran passes as three arrays. Unlike the other forms,
/// these keep the caller's order. The native library shows this in comparisons. It reverses the
/// kinds of a real-to-real transform nevertheless.
class FortranDims {
 public:
  FortranDims(const int* n, const int* is, const int* os, int count) noexcept {
    for (int i = 0; i < count && count <= FftwProblem::kMaxRank; ++i)
      dims_[static_cast<std::size_t>(i)] = {n[i], is[i], os[i]};
  }
  const FftwIodim<int>* data() const noexcept { return dims_.data(); }

 private:
  std::array<FftwIodim<int>, FftwProblem::kMaxRank> dims_{};
};

}  // namespace ob::interpose
