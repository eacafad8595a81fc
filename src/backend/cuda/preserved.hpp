#pragma once
// Routines of LAPACK for which cuSOLVER changes elements, or reports zeros, other than the
// reference. These steps restore the reference's results.
// Source: seen with cuSOLVER 12 (CUDA 13.0) on an H100, with the suite of tests/conformance/device

#include "backend/cuda/lapack_steps.hpp"

namespace ob::cuda {

/// Inverts a triangle. cuSOLVER writes ones to the diagonal if `diag` is 'U'; the reference does
/// not access it.
LapackSteps::Info invert_triangle(LapackSteps& steps, char uplo, char diag, std::int64_t n,
                                  HostOperand a);

/// Factors a symmetric indefinite matrix. cuSOLVER returns 0 for a singular one.
LapackSteps::Info factor_indefinite(LapackSteps& steps, char uplo, std::int64_t n, HostOperand a,
                                    HostOperand pivots);

// Rows of the table. `arguments` are those of the row.

/// ?sytrf
LapackSteps::Info sytrf(LapackSteps& steps, const Argument* arguments);
/// ?sytrd, ?hetrd. In complex precisions cuSOLVER does not store the tridiagonal matrix in A.
LapackSteps::Info sytrd(LapackSteps& steps, const Argument* arguments);
/// ?syev, ?syevd, ?heev, ?heevd. Without eigenvectors cuSOLVER writes to both triangles of A; the
/// reference leaves one as it is.
LapackSteps::Info eigen(LapackSteps& steps, const Argument* arguments);
/// ?sygv, ?sygvd, ?hegv, ?hegvd, likewise. Close eigenvalues may come out of order.
LapackSteps::Info eigen_pencil(LapackSteps& steps, const Argument* arguments);

}  // namespace ob::cuda
