#pragma once
// The positions of gemm's arguments. The routine is
// ?GEMM(TRANSA, TRANSB, M, N, K, ALPHA, A, LDA, B, LDB, BETA, C, LDC). A leading dimension shares
// the position of its matrix.

namespace ob::algorithms::gemm_argument {

enum Position { kTransA, kTransB, kM, kN, kK, kAlpha, kA, kB, kBeta, kC };

}  // namespace ob::algorithms::gemm_argument
