#pragma once
// Calls of the BLAS that compute no product: the reference's rules, so that they do not depend on
// what a library makes of them.

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

/// What is left to do of a call.
struct QuickReturn {
  enum class Left {
    everything,
    nothing,
    scaling,  ///< C := factor C, over region(); factor 0 clears whatever was there
    zero,     ///< the result of a function: a sum over nothing
  };
  Left left = Left::everything;
  Operand result = {};  ///< of scaling and zero
  Complex factor{1, 0};
  bool hermitian = false;  ///< scaling makes the diagonal real

  Region region(const Descriptor& routine, const Argument* arguments) const noexcept {
    return region_of(result, routine.kinds[result.argument], arguments[result.argument].host.ld,
                     true);
  }
};

/// Empty results, sums over nothing, and alpha = 0, for which A and B are not read (a NaN there has
/// no influence) and beta = 0 clears C.
/// @pre a legal call of the BLAS; memory operands are Argument::host
QuickReturn quick_return(const Descriptor& routine, const Argument* arguments,
                         const Operands& operands) noexcept;

}  // namespace ob
