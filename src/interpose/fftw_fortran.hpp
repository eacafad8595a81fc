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
  /// Zeros if there were more than any problem has; the problem then says that it is not
  /// representable.
  const int* data() const noexcept { return reversed_.data(); }

 private:
  std::array<int, FftwProblem::kMaxRank> reversed_{};
};

/// The dimensions of a guru call, which Fortran passes as three arrays. Unlike the other forms
/// these keep the caller's order (found by comparing with the native library, which nevertheless
/// reverses the kinds of a real-to-real transform).
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
