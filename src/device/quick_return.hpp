#pragma once
// The reference's rules for BLAS calls that compute no product. They are applied here, so that the
// results do not depend on the library.

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

/// The remaining work of a call.
struct QuickReturn {
  enum class Left {
    everything,
    nothing,
    scaling,  ///< C := factor C, over region(); factor 0 clears all values
    zero,     ///< the result of a function: a sum over nothing
  };
  Left left = Left::everything;
  Operand result = {};  ///< the operand that scaling or zero writes
  Complex factor{1, 0};
  bool hermitian = false;  ///< scaling makes the diagonal real

  Region region(const Descriptor& routine, const Argument* arguments) const noexcept {
    return region_of(result, routine.kinds[result.argument], arguments[result.argument].host.ld,
                     true);
  }
};

/// Recognises empty results, empty sums and alpha = 0. With alpha = 0, A and B are not read (a NaN
/// there has no influence) and beta = 0 clears C.
/// @param arguments those of a legal call, memory operands as Argument::host
/// @pre routine.library == Library::blas
QuickReturn quick_return(const Descriptor& routine, const Argument* arguments,
                         const Operands& operands) noexcept;

}  // namespace ob
