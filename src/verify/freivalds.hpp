#pragma once
// Tests whether an equation between matrices holds.

#include <cstdint>

#include "verify/equation.hpp"
#include "verify/verification.hpp"

namespace ob::verify {

/// Checks the equation with random vectors. It holds if every checked element of the sum is within
///     4 c (roundings + 16) (u + u_double) * (sum over terms of |scale| |M1| |M2| ...)_ij
/// where u is the unit roundoff of the precision, and c = 2 for complex precisions (magnitudes are
/// |re| + |im|). The check first computes r = sum * x for a random x. It then computes the rows of
/// r that are too large for rounding errors element by element. So a right result never fails for
/// any x.
/// Threads: any; throws std::bad_alloc
/// Cost:    one pass over each matrix, and a few passes over the suspicious rows
/// Source:  Freivalds 1979
Verification verify_equation(const Equation& equation, std::uint64_t seed);

}  // namespace ob::verify
