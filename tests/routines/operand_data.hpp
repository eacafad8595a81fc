#pragma once
// The contents of the operands of random problems.

#include "routines/problem.hpp"
#include "support/random.hpp"

namespace ob::test {

/// Fills the input elements of an operand whose memory is allocated.
///
/// Factorizations must exist, and the results of two runs of one library with different rounding
/// must be close. So matrices of LAPACK and triangular systems have large elements d_i, 1/n apart
/// from each other in [1, 2], and small ones of 1/8n to 1/4n:
/// - large elements lie on the diagonal (then A is positive definite, or its triangle is far from
///   singular), or a permutation moves them, so that solvers must exchange rows in one clear order;
/// - eigenvalues and singular values are then 1/n apart up to second-order terms;
/// - no small element is near 0, so that the signs of reflectors are certain.
/// All other operands are uniform in [-1, 1].
void fill_operand(Problem& p, const Operand& o, std::mt19937_64& random);

}  // namespace ob::test
