#pragma once
// The contents of the operands of random problems.

#include "routines/problem.hpp"
#include "support/random.hpp"

namespace ob::test {

/// Fills the elements that are read of an operand whose memory is there.
///
/// Factorisations must exist, and two runs of one library that round differently must come close to
/// each other. So matrices of LAPACK and triangular systems have large elements d_i, 1/n apart from
/// each other in [1, 2], and small ones of 1/8n to 1/4n:
/// - on the diagonal (then A is positive definite, or far from losing its triangle's rank), or
///   where a permutation moves them, so that solvers must exchange rows, in one clear order;
/// - eigenvalues and singular values are then 1/n apart but for second-order terms;
/// - no small element is near 0, so that reflectors have definite signs.
/// All else is uniform in [-1, 1].
void fill_operand(Problem& p, const Operand& o, std::mt19937_64& random);

}  // namespace ob::test
