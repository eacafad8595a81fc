#pragma once
// General matrices made from their eigenvalues, and what the routines for them say of theirs.

#include <vector>

#include "conformance/device/algebra.hpp"

namespace ob::test {

using Wides = std::vector<Wide>;

/// A = X D X^-1. In real precisions complex values come in pairs, and D has a block of 2 for each.
struct GeneralProblem {
  Dense a;
  Wides values;
  Dense vectors;  ///< X D's own vectors: columns belong to the values
};
GeneralProblem random_general(RoutineTest& test, Precision precision, std::uint64_t n,
                              int spectrum);

/// Eigenvalues from wr and wi, or w.
Wides eigenvalues_of(const RoutineOutput& out);
/// In real precisions a pair's vectors are x + i y and x - i y, x and y its two columns.
Dense complex_vectors(const Dense& stored, const Wides& values, Precision precision);
/// Pairs are next to each other, the one with the positive imaginary part first.
void require_pairs(RoutineTest& test, const Wides& values, Precision precision);

/// Each value has a right one near, and the other way round: within cond(X) ||E|| (Bauer and Fike;
/// Golub and Van Loan, Matrix Computations, 4th edition, 7.2.2) for an error ||E|| of the matrix.
void expect_near(RoutineTest& test, const Wides& got, const Wides& right, Real limit);

/// Columns of length 1.
Dense normalized(Dense vectors);
Real condition(const Dense& a);

/// Upper triangular, in real precisions but for blocks of 2 with a pair of eigenvalues each, whose
/// diagonal elements are equal; with the values of `values` on its diagonal.
void expect_schur_form(RoutineTest& test, const Dense& t, const Wides& values, Precision precision);

}  // namespace ob::test
