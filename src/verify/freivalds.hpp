#pragma once
// The test whether an equation between matrices holds.

#include <cstdint>

#include "verify/equation.hpp"
#include "verify/verification.hpp"

namespace ob::verify {

/// Checks the equation with random vectors. It is right if every element of the sum that is looked
/// at is within
///     4 c (roundings + 16) (u + u_double) * (sum over terms of |scale| |M1| |M2| ...)_ij
/// where u is the unit roundoff of the precision, and c = 2 for complex precisions (magnitudes are
/// |re| + |im|). First r = sum * x for a random x. Rows of r that rounding hardly explains are
/// then computed element by element, so a right result never fails, whatever x is.
/// Threads: any; throws std::bad_alloc
/// Cost:    one pass over each matrix, and a few passes over the suspicious rows
/// Source:  Freivalds 1979
Verification verify_equation(const Equation& equation, std::uint64_t seed);

}  // namespace ob::verify
