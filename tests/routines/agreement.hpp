#pragma once
// Compares two runs of one problem.

#include <random>
#include <string>

#include "routines/problem.hpp"

namespace ob::test {

/// Returns an empty text if the results of two runs of `given` agree and nothing else was changed;
/// otherwise the difference.
///
/// Elements that are neither results nor consumed must have their bytes in `given`, or those in
/// `expected`, the library's run. Consumed elements may hold anything. Results agree if they differ
/// by less than
///
///   50 (2n + 10) eps max(1, |x|_max)       n the largest dimension
///
/// which is some times the normwise bounds of products and of solutions with well-conditioned
/// matrices (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, chapters 3, 9,
/// 10, 19). Eigenvectors, singular vectors and Schur vectors agree if they are multiples of each
/// other up to n times that bound. This is p(n) eps / gap of the LAPACK Users' Guide, 3rd edition,
/// section 4.7, for gaps of 1/n (operand_data.hpp). A Schur form is determined up to the phases of
/// its vectors, so the magnitudes of its elements agree up to the same bound. Reductions to
/// bidiagonal and tridiagonal form agree up to n times this bound: a reflector is made of the rest
/// that earlier ones leave of a column, and this rest may be small (random matrices of order 10
/// lost five digits). Condition numbers are estimates: they agree up to a factor of two. Error
/// bounds are estimates from residuals that are rounding errors: they agree up to a factor of ten
/// (2.8 was seen).
std::string difference(const Problem& given, const Problem& expected, const Problem& actual);

/// Returns an empty text if `actual` differs from `given` in results and consumed elements only;
/// otherwise the place of another difference.
std::string intrusion(const Problem& given, const Problem& actual);

/// Returns the problem with other operands: each number that the routine reads and overwrites is
/// changed by up to four roundoffs. If the library's results change by more than `difference`
/// allows, they depend on rounding errors: the sign of a reflector, for example, is that of a
/// number that may be almost zero. Such a problem says nothing about another library.
Problem nudged(const Problem& given, std::mt19937_64& random);

}  // namespace ob::test
