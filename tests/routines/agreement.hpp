#pragma once
// Whether two runs of one problem agree.

#include <string>

#include "routines/problem.hpp"

namespace ob::test {

/// Empty if the results of two runs of `given` agree and nothing else was changed; otherwise what
/// is wrong.
///
/// Elements that are neither results nor consumed must have the bytes they had in `given`, or those
/// that `expected`, the library's run, left there. Consumed elements may hold anything. Results
/// agree if they differ by less than
///
///   50 (2n + 10) eps max(1, |x|_max)       n the largest dimension
///
/// some times the normwise bounds of products and of solutions with well-conditioned matrices
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, chapters 3, 9, 10, 19).
/// Eigenvectors, singular vectors and Schur vectors agree if they are multiples of each other to n
/// times that, which is p(n) eps / gap of the LAPACK Users' Guide, 3rd edition, section 4.7, for
/// gaps of 1/n (operand_data.hpp). A Schur form is determined up to the phases of its vectors, so
/// the magnitudes of its elements agree to as much. Reductions to bidiagonal and tridiagonal form
/// agree to n times that again: a reflector is made of what earlier ones left of a column, which
/// may be little (random matrices of order 10 were seen to lose five digits). Condition numbers and
/// error bounds are estimates: they agree to a factor of two.
std::string difference(const Problem& given, const Problem& expected, const Problem& actual);

/// Empty if `actual` differs from `given` in results and consumed elements only; otherwise where
/// else.
std::string intrusion(const Problem& given, const Problem& actual);

}  // namespace ob::test
