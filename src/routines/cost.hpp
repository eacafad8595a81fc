#pragma once
// What a call costs, wherever it runs.

#include "routines/descriptor.hpp"

namespace ob {

/// Units: floating-point operations as the row counts them; bytes of the elements that travel, each
/// once (a triangle is half a matrix, C with beta = 0 is not sent, what a call destroys does not
/// come back)
struct Cost {
  double flop = 0;
  double bytes_to = 0;
  double bytes_from = 0;
};

/// @pre routine.legal(arguments, their lds)
Cost cost_of(const Descriptor& routine, const Argument* arguments) noexcept;

}  // namespace ob
