#pragma once
// Copies between views: scaled, accumulating, permuted.

#include "base/status.hpp"
#include "device/permute/copy_plan.hpp"
#include "sial/operations/axes.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

/// Returns the plan of a copy. Axes of D take the axes of B with the same labels. Dimensions of
/// extent 1 match anything.
/// @pre the labels are a permutation, or equal lists if one repeats; matching extents are equal
CopyPlan copy_plan(const View& d, const ConstView& b);

/// d = s b, d += s b, d -= s b, where `assign` is set, add or subtract. Reads B before D changes,
/// also where they overlap.
/// Errors: out_of_memory if the operands overlap and there is no memory for a copy of B
/// @pre as copy_plan()
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
