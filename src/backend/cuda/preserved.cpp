#include "backend/cuda/preserved.hpp"

#include <algorithm>
#include <array>

#include "routines/argument.hpp"

namespace ob::cuda {
namespace {

using Info = LapackSteps::Info;

// Runs the row's own function with a copy of matrix `matrix` (its position), of order n. The matrix
// itself stays as it is, which is one of the states that the reference may leave it in.
Info run_on_copy(LapackSteps& s, const Argument* arguments, std::size_t matrix, std::int64_t n) {
  std::array<Argument, kMaxArguments> changed{};
  std::copy_n(arguments, s.routine().kinds.size(), changed.begin());
  OB_ASSIGN_OR_RETURN(const HostOperand copy, s.matrix(n, n));
  OB_RETURN_IF_ERROR(s.copy(n, n, arguments[matrix].host, copy));
  changed[matrix].host = copy;
  return s.solve_row(changed.data());
}

}  // namespace

Info invert_triangle(LapackSteps& s, char uplo, char diag, std::int64_t n, HostOperand a) {
  const auto invert = [&] {
    return s.solve(SubCall(s.routine(), "trtri").flag(uplo).flag(diag).dim(n).operand(a).info());
  };
  if (diag != 'U') return invert();
  OB_ASSIGN_OR_RETURN(const HostOperand diagonal, s.copy_diagonal(n, a));
  OB_ASSIGN_OR_RETURN(const std::int64_t info, invert());
  OB_RETURN_IF_ERROR(s.set_diagonal(n, diagonal, false, a));
  return info;
}

Info factor_indefinite(LapackSteps& s, char uplo, std::int64_t n, HostOperand a,
                       HostOperand pivots) {
  OB_ASSIGN_OR_RETURN(
      const std::int64_t info,
      s.solve(SubCall(s.routine(), "sytrf").flag(uplo).dim(n).operand(a).operand(pivots).info()));
  if (info > 0) return info;
  return s.first_zero_pivot(uplo, n, a, pivots);
}

Info sytrf(LapackSteps& s, const Argument* a) {
  enum { kUplo, kN, kA, kPivots };
  return factor_indefinite(s, a[kUplo].flag, a[kN].dim, a[kA].host, a[kPivots].host);
}

Info sytrd(LapackSteps& s, const Argument* a) {
  enum { kUplo, kN, kA, kD, kE };
  const std::int64_t n = a[kN].dim;
  OB_ASSIGN_OR_RETURN(const std::int64_t info, s.solve_row(a));
  OB_RETURN_IF_ERROR(s.set_diagonal(n, a[kD].host, true, a[kA].host));
  const bool upper = a[kUplo].flag == 'U';
  const HostOperand beside = s.at(a[kA].host, upper ? 0 : 1, upper ? 1 : 0);
  OB_RETURN_IF_ERROR(s.set_diagonal(n - 1, a[kE].host, true, beside));
  return info;
}

Info eigen(LapackSteps& s, const Argument* a) {
  enum { kJob, kUplo, kN, kA };
  return a[kJob].flag == 'N' ? run_on_copy(s, a, kA, a[kN].dim) : s.solve_row(a);
}

Info eigen_pencil(LapackSteps& s, const Argument* a) {
  enum { kType, kJob, kUplo, kN, kA, kB, kW };
  const bool vectors = a[kJob].flag != 'N';
  OB_ASSIGN_OR_RETURN(const std::int64_t info,
                      vectors ? s.solve_row(a) : run_on_copy(s, a, kA, a[kN].dim));
  if (info > 0) return info;
  OB_RETURN_IF_ERROR(s.sort_eigenvalues(a[kN].dim, a[kW].host.data,
                                        vectors ? a[kA].host : HostOperand{nullptr, 0}));
  return info;
}

}  // namespace ob::cuda
