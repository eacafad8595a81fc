#pragma once
// LU factors with row exchanges as getrf leaves them.

#include "conformance/device/algebra.hpp"

namespace ob::test {

/// m x min(m, n), ones on the diagonal.
Dense lower_factor(const Dense& lu);
/// min(m, n) x n
Dense upper_factor(const Dense& lu);
/// |L| |U|: the size of what elimination added up.
Dense product_of_sizes(const Dense& lu);

/// Each pivot names a row from its own to the last.
bool pivots_are_exchanges(const Integers& pivots, std::uint64_t rows);
/// P A: the exchanges in the order getrf made them.
Dense exchanged(Dense a, const Integers& pivots);
/// P^T A
Dense exchanged_back(Dense a, const Integers& pivots);
/// A = P^T L U
Dense matrix_of(const Dense& lu, const Integers& pivots);

/// Factors made here, not by a device: unit lower, well-conditioned upper, any exchanges.
Dense random_lu(RoutineTest& test, Precision precision, std::uint64_t n);
Integers random_exchanges(RoutineTest& test, std::uint64_t n);

}  // namespace ob::test
