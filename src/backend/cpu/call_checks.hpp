#pragma once
// What a library of this machine asks of a call before it gets it.

#include "base/status.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cpu {

/// Operands are Argument::host.
/// Errors: unsupported if a number is beyond 32-bit integers, or an increment beyond what may be
/// read after the end of an operand
Status check_for_library(const Descriptor& routine, const Argument* arguments);

/// The reference does not read A and B if alpha = 0; OpenBLAS's small-matrix kernels do, and 0 *
/// NaN is NaN. A product over nothing says the same without reading them.
void drop_product_if_alpha_zero(const Descriptor& routine, Argument* arguments);

}  // namespace ob::cpu
