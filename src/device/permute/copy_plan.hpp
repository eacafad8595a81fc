#pragma once
// Copies between strided arrays of doubles: scaled, accumulating, permuted.

#include <cstdint>

#include "device/permute/axes.hpp"

namespace ob {

/// The order of a copy, computed once from extents and strides.   Threads: any
class CopyPlan {
 public:
  CopyPlan() = default;
  /// From axes of (destination, source).
  explicit CopyPlan(Axes<2> axes);

  /// d := alpha b, or d += alpha b if `add`.
  /// @pre the operands do not overlap, or in_place() and they are the same
  void run(double* d, const double* b, double alpha, bool add) const;

  /// True if each element of the destination lies where the one of the source does, relative to the
  /// first.
  bool in_place() const noexcept;

 private:
  struct Work;
  void split(Work& work, double* d, const double* b) const;
  void run_box(const Work& work, double* d, const double* b) const;

  Axes<2> outer_;         // without the axes of the inner loop
  Axis<2> row_, column_;  // of the inner loop
  std::int64_t elements_ = 1;
  enum class Inner { runs, transpose, strided } inner_ = Inner::runs;
};

}  // namespace ob
