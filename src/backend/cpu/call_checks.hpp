#pragma once
// The conditions on a call before a library of this machine may run it.

#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cpu {

/// Checks a call whose operands are Argument::host.
/// Errors: unsupported if a number exceeds 32 bits, or an increment exceeds the readable memory
///         after an operand
Status check_for_library(const Descriptor& routine, const Argument* arguments);

/// Replaces the leading dimensions and increments of operands of at most one column or element by
/// dense ones. They have no meaning then, so that any number passes the checks of memory; but
/// LAPACK computes sizes of its workspace from them with 32 bits, and writes beyond it after an
/// overflow.
void make_unused_strides_dense(const Descriptor& routine, Argument* arguments);

/// Replaces a product with alpha = 0 by an empty product. The reference does not read A and B then,
/// but OpenBLAS's small-matrix kernels do, and 0 * NaN is NaN.
void drop_product_if_alpha_zero(const Descriptor& routine, Argument* arguments);

}  // namespace ob::cpu
