#pragma once
// General matrices made from their eigenvalues, and checks of the results of their routines.

#include <vector>

#include "conformance/device/algebra.hpp"

namespace ob::test {

using Wides = std::vector<Wide>;

/// A = X D X^-1. In real precisions complex values come in pairs, and D has a 2 x 2 block for each.
struct GeneralProblem {
  Dense a;
  Wides values;
  Dense vectors;  ///< the eigenvectors, one column for each value
};
GeneralProblem random_general(RoutineTest& test, Precision precision, std::uint64_t n,
                              int spectrum);

/// Returns the eigenvalues from wr and wi, or from w.
Wides eigenvalues_of(const RoutineOutput& out);
/// Returns complex vectors. In real precisions a pair is x + i y and x - i y, from columns x and y.
Dense complex_vectors(const Dense& stored, const Wides& values, Precision precision);
/// Requires pairs next to each other, with the positive imaginary part first.
void require_pairs(RoutineTest& test, const Wides& values, Precision precision);

/// Expects a correct value near each computed one, and the reverse: within cond(X)
/// E
/// (Bauer and Fike; Golub and Van Loan, Matrix Computations, 4th edition, 7.2.2) for an error
/// E
/// of the matrix.
void expect_near(RoutineTest& test, const Wides& got, const Wides& right, Real limit);

/// Scales the columns to length 1.
Dense normalized(Dense vectors);
Real condition(const Dense& a);

/// Expects an upper triangular T with `values` on its diagonal. In real precisions, a pair of
/// eigenvalues has a 2 x 2 block, whose diagonal elements are equal.
void expect_schur_form(RoutineTest& test, const Dense& t, const Wides& values, Precision precision);

}  // namespace ob::test
