#pragma once
// Copies between views: scaled, accumulating, permuted.

#include "base/status.hpp"
#include "sial/operations/axes.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

/// The order of a copy, computed once from extents, strides and labels.   Threads: any
class CopyPlan {
 public:
  CopyPlan() = default;
  /// Axes of D take the axes of B with the same labels. Dimensions of extent 1 match anything.
  /// @pre the labels are a permutation, or equal lists if one repeats; matching extents are equal
  static CopyPlan make(const View& d, const ConstView& b);
  /// From axes of (destination, source).
  explicit CopyPlan(Axes<2> axes);

  /// d := alpha b, or d += alpha b if `add`.
  /// @pre the operands do not overlap, or in_place() and they are the same
  void run(double* d, const double* b, double alpha, bool add) const;

  /// True if each element of D lies where the one of B does, relative to the first.
  bool in_place() const noexcept;

 private:
  struct Work;
  void split(Work& work, double* d, const double* b) const;
  void run_box(const Work& work, double* d, const double* b) const;

  Axes<2> outer_;         // without the axes of the inner loop
  Axis<2> row_, column_;  // of the inner loop
  enum class Inner { runs, transpose, strided } inner_ = Inner::runs;
};

/// d = s b, d += s b, d -= s b, where `assign` is set, add or subtract. Reads B before D changes,
/// also where they overlap.
/// Errors: out_of_memory if the operands overlap and there is no memory for a copy of B
/// @pre as CopyPlan::make
Status copy(const View& d, const ConstView& b, double s, Assign assign, Scratch& scratch);

/// The same by a plan that was made for views like these.
Status copy(const CopyPlan& plan, const View& d, const ConstView& b, double s, Assign assign,
            Scratch& scratch);

/// The same with s = 1.
Status copy(const View& d, const ConstView& b, Assign assign, Scratch& scratch);

/// Returns `b`, or a dense copy of it in `use` if it may overlap with `d` without being the same
/// elements in the same order.   Errors: out_of_memory
Result<ConstView> apart(const View& d, const ConstView& b, Scratch::Use use, Scratch& scratch);

}  // namespace ob::sial
