#pragma once
// One oracle per row of the table. It makes inputs, calls the routine, and compares the results
// with the routine's definition, never with another run of the code under test.

#include <span>
#include <string_view>
#include <vector>

#include "conformance/device/routine_run.hpp"

namespace ob::test {

struct Oracle {
  std::string_view base;  ///< Descriptor::base
  /// Records a failure; may throw Abandoned after that.
  void (*check)(RoutineTest& test, const Descriptor& routine);
};

/// Each file has the oracles of one family.
using Oracles = std::span<const Oracle>;
Oracles level1_oracles();
Oracles rotation_oracles();
Oracles level2_oracles();
Oracles level3_oracles();
Oracles solve_oracles();         ///< factors, solutions, inverses: LU, Cholesky, triangles
Oracles indefinite_oracles();    ///< symmetric and Hermitian systems that need not be definite
Oracles expert_solve_oracles();  ///< gesvx, posvx
Oracles orthogonal_oracles();    ///< QR and LQ
Oracles least_squares_oracles();
Oracles reduction_oracles();  ///< tridiagonal, bidiagonal, Hessenberg
Oracles hermitian_eigen_oracles();
Oracles general_eigen_oracles();
Oracles pencil_oracles();
Oracles schur_oracles();
Oracles singular_value_oracles();

std::vector<Oracle> all_oracles();

}  // namespace ob::test
