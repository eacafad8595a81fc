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

}  // namespace ob::interpose
