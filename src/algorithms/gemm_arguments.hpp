#pragma once
// Where gemm's arguments are: ?GEMM(TRANSA, TRANSB, M, N, K, ALPHA, A, LDA, B, LDB, BETA, C, LDC),
// leading dimensions with their matrices.

namespace ob::algorithms::gemm_argument {

enum Position { kTransA, kTransB, kM, kN, kK, kAlpha, kA, kB, kBeta, kC };

}  // namespace ob::algorithms::gemm_argument
