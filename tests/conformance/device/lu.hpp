#pragma once
// LU factors with row exchanges in the form of getrf.

#include "conformance/device/algebra.hpp"

namespace ob::test {

/// Returns L: m x min(m, n), with ones on the diagonal.
Dense lower_factor(const Dense& lu);
/// Returns U: min(m, n) x n.
Dense upper_factor(const Dense& lu);
/// Returns |L| |U|: the size of the terms of the elimination.
Dense product_of_sizes(const Dense& lu);

/// Returns true if each pivot names a row from its own to the last.
bool pivots_are_exchanges(const Integers& pivots, std::uint64_t rows);
/// Returns P A: applies the exchanges in getrf's order.
Dense exchanged(Dense a, const Integers& pivots);
/// Returns P^T A.
Dense exchanged_back(Dense a, const Integers& pivots);
/// Returns A = P^T L U.
Dense matrix_of(const Dense& lu, const Integers& pivots);

/// Returns factors that no device computed: unit lower, well-conditioned upper, any exchanges.
Dense random_lu(RoutineTest& test, Precision precision, std::uint64_t n);
Integers random_exchanges(RoutineTest& test, std::uint64_t n);

}  // namespace ob::test
