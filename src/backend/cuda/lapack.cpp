#include "backend/cuda/lapack.hpp"

#include <algorithm>
#include <string_view>

#include "backend/cuda/lapack_steps.hpp"
#include "backend/cuda/preserved.hpp"
#include "backend/cuda/solver.hpp"
#include "backend/cuda/svd.hpp"
#include "base/contract.hpp"

namespace ob::cuda {
namespace {

using Info = LapackSteps::Info;

// Arguments are accessed by their positions in the row.

Info gesv(LapackSteps& s, const Argument* a) {
  enum { kN, kRhs, kA, kPivots, kB };
  const std::int64_t n = a[kN].dim;
  const SubCall factor =
      SubCall(s.routine(), "getrf").dim(n).dim(n).operand(a[kA].host).operand(a[kPivots].host);
  OB_ASSIGN_OR_RETURN(const std::int64_t info, s.solve(SubCall(factor).info()));
  if (info > 0) return info;
  return s.solve(SubCall(s.routine(), "getrs")
                     .flag('N')
                     .dim(n)
                     .dim(a[kRhs].dim)
                     .operand(a[kA].host)
                     .operand(a[kPivots].host)
                     .operand(a[kB].host)
                     .info());
}

Info posv(LapackSteps& s, const Argument* a) {
  enum { kUplo, kN, kRhs, kA, kB };
  OB_ASSIGN_OR_RETURN(const std::int64_t info, s.solve(SubCall(s.routine(), "potrf")
                                                           .flag(a[kUplo].flag)
                                                           .dim(a[kN].dim)
                                                           .operand(a[kA].host)
                                                           .info()));
  if (info > 0) return info;
  return s.solve(SubCall(s.routine(), "potrs")
                     .flag(a[kUplo].flag)
                     .dim(a[kN].dim)
                     .dim(a[kRhs].dim)
                     .operand(a[kA].host)
                     .operand(a[kB].host)
                     .info());
}

Info sysv(LapackSteps& s, const Argument* a) {
  enum { kUplo, kN, kRhs, kA, kPivots, kB };
  OB_ASSIGN_OR_RETURN(const std::int64_t info,
                      factor_indefinite(s, a[kUplo].flag, a[kN].dim, a[kA].host, a[kPivots].host));
  if (info > 0) return info;
  return s.solve(SubCall(s.routine(), "sytrs")
                     .flag(a[kUplo].flag)
                     .dim(a[kN].dim)
                     .dim(a[kRhs].dim)
                     .operand(a[kA].host)
                     .operand(a[kPivots].host)
                     .operand(a[kB].host)
                     .info());
}

// Computes the inverse. A singular matrix is not changed.
Info getri(LapackSteps& s, const Argument* a) {
  enum { kN, kA, kPivots };
  const std::int64_t n = a[kN].dim;
  OB_ASSIGN_OR_RETURN(const std::int64_t zero, s.first_zero(n, a[kA].host));
  if (zero > 0) return zero;
  OB_ASSIGN_OR_RETURN(const HostOperand inverse, s.matrix(n, n));
  OB_RETURN_IF_ERROR(s.set_identity(n, inverse));
  OB_ASSIGN_OR_RETURN(const std::int64_t info, s.solve(SubCall(s.routine(), "getrs")
                                                           .flag('N')
                                                           .dim(n)
                                                           .dim(n)
                                                           .operand(a[kA].host)
                                                           .operand(a[kPivots].host)
                                                           .operand(inverse)
                                                           .info()));
  OB_RETURN_IF_ERROR(s.copy(n, n, inverse, a[kA].host));
  return info;
}

SubCall triangular_solve(const LapackSteps& s, char uplo, char trans, char diag) {
  return SubCall(s.routine(), "trsm").flag('L').flag(uplo).flag(trans).flag(diag);
}

Info trtrs(LapackSteps& s, const Argument* a) {
  enum { kUplo, kTrans, kDiag, kN, kRhs, kA, kB };
  const std::int64_t n = a[kN].dim;
  if (a[kDiag].flag == 'N') {
    OB_ASSIGN_OR_RETURN(const std::int64_t zero, s.first_zero(n, a[kA].host));
    if (zero > 0) return zero;
  }
  OB_RETURN_IF_ERROR(s.multiply(triangular_solve(s, a[kUplo].flag, a[kTrans].flag, a[kDiag].flag)
                                    .dim(n)
                                    .dim(a[kRhs].dim)
                                    .one()
                                    .operand(a[kA].host)
                                    .operand(a[kB].host)));
  return std::int64_t{0};
}

Info trtri(LapackSteps& s, const Argument* a) {
  enum { kUplo, kDiag, kN, kA };
  if (a[kDiag].flag == 'N') {
    OB_ASSIGN_OR_RETURN(const std::int64_t zero, s.first_zero(a[kN].dim, a[kA].host));
    if (zero > 0) return zero;
  }
  return invert_triangle(s, a[kUplo].flag, a[kDiag].flag, a[kN].dim, a[kA].host);
}

Info potri(LapackSteps& s, const Argument* a) {
  enum { kUplo, kN, kA };
  OB_ASSIGN_OR_RETURN(const std::int64_t zero, s.first_zero(a[kN].dim, a[kA].host));
  if (zero > 0) return zero;
  return s.solve(
      SubCall(s.routine(), "potri").flag(a[kUplo].flag).dim(a[kN].dim).operand(a[kA].host).info());
}

enum Gels { kTrans, kM, kN, kRhs, kA, kB };

Info multiply_by_q(LapackSteps& s, const Argument* a, char trans, HostOperand tau) {
  return s.solve(SubCall(s.routine(), "ormqr", "unmqr")
                     .flag('L')
                     .flag(trans)
                     .dim(a[kM].dim)
                     .dim(a[kRhs].dim)
                     .dim(a[kN].dim)
                     .operand(a[kA].host)
                     .operand(tau)
                     .operand(a[kB].host)
                     .info());
}

// Solves least-squares problems with m >= n: A = Q R, and X = R^-1 (Q^H B). The solution of the
// transposed system is X = Q (R^-H B; 0).
Info gels(LapackSteps& s, const Argument* a) {
  const std::int64_t n = a[kN].dim;
  const std::int64_t rhs = a[kRhs].dim;
  OB_ASSIGN_OR_RETURN(const HostOperand tau, s.matrix(n, 1));
  OB_RETURN_IF_ERROR(s.solve(SubCall(s.routine(), "geqrf")
                                 .dim(a[kM].dim)
                                 .dim(n)
                                 .operand(a[kA].host)
                                 .operand(tau)
                                 .info())
                         .status());
  OB_ASSIGN_OR_RETURN(const std::int64_t zero, s.first_zero(n, a[kA].host));
  if (zero > 0) return zero;
  const bool plain = a[kTrans].flag == 'N';
  if (plain) OB_RETURN_IF_ERROR(multiply_by_q(s, a, s.adjoint(), tau).status());
  OB_RETURN_IF_ERROR(s.multiply(triangular_solve(s, 'U', a[kTrans].flag, 'N')
                                    .dim(n)
                                    .dim(rhs)
                                    .one()
                                    .operand(a[kA].host)
                                    .operand(a[kB].host)));
  if (plain) return std::int64_t{0};
  OB_RETURN_IF_ERROR(s.clear(a[kM].dim - n, rhs, s.at(a[kB].host, n, 0)));
  return multiply_by_q(s, a, 'N', tau);
}

bool always(const Argument* /*arguments*/) { return true; }
bool is_tall(const Argument* a) { return a[0].dim >= a[1].dim; }
bool is_tall_gels(const Argument* a) { return a[kM].dim >= a[kN].dim; }

// A routine that needs several functions of cuSOLVER, or that cuSOLVER has for some arguments only.
struct Composition {
  std::string_view base;
  bool (*takes)(const Argument* arguments);
  Info (*run)(LapackSteps& steps, const Argument* arguments);  // nullptr: one function does all
};
constexpr Composition kCompositions[] = {
    {"gebrd", is_tall, nullptr},     {"gels", is_tall_gels, gels},
    {"gesdd", gesdd_takes, gesdd},   {"gesv", always, gesv},
    {"gesvd", gesvd_takes, gesvd},   {"getri", always, getri},
    {"heev", always, eigen},         {"heevd", always, eigen},
    {"hegv", always, eigen_pencil},  {"hegvd", always, eigen_pencil},
    {"hetrd", always, sytrd},        {"posv", always, posv},
    {"potri", always, potri},        {"syev", always, eigen},
    {"syevd", always, eigen},        {"sygv", always, eigen_pencil},
    {"sygvd", always, eigen_pencil}, {"sysv", always, sysv},
    {"sytrd", always, sytrd},        {"sytrf", always, sytrf},
    {"trtri", always, trtri},        {"trtrs", always, trtrs},
};

const Composition* find_composition(std::string_view base) {
  const auto* const found =
      std::find_if(std::begin(kCompositions), std::end(kCompositions),
                   [&](const Composition& composition) { return composition.base == base; });
  return found == std::end(kCompositions) ? nullptr : found;
}

Status write_info(StreamContext& context, std::int64_t info, void* place) {
  const Runtime& runtime = context.runtime();
  if (info == 0) {
    return runtime.check(runtime.cudaMemsetAsync(place, 0, sizeof info, context.stream),
                         "writing info");
  }
  OB_ASSIGN_OR_RETURN(const PinnedBlock block, context.pinned.take(sizeof info));
  *block.as<std::int64_t>() = info;
  OB_RETURN_IF_ERROR(runtime.check(runtime.cudaMemcpyAsync(place, block.data(), sizeof info,
                                                           cudaMemcpyHostToDevice, context.stream),
                                   "writing info"));
  return context.synchronize();
}

// Sets the mode of the results. Deterministic results are cuSOLVER's default, but this function
// does not rely on that.
Status set_mode(StreamContext& context) {
  OB_ASSIGN_OR_RETURN(const SolverTable* table, context.libraries.solver());
  OB_ASSIGN_OR_RETURN(cusolverDnHandle_t handle, context.handles.solver());
  const auto mode = context.accuracy == Accuracy::fast ? CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS
                                                       : CUSOLVER_DETERMINISTIC_RESULTS;
  return table->check(table->cusolverDnSetDeterministicMode(handle, mode),
                      "cusolverDnSetDeterministicMode");
}

}  // namespace

bool lapack_takes(const Descriptor& routine, const Argument* arguments) {
  // The reference library defines the results of empty problems.
  if (routine.trivial(arguments)) return false;
  if (const Composition* composition = find_composition(routine.base))
    return composition->takes(arguments);
  return solver_has(routine);
}

Status run_lapack(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_EXPECT(lapack_takes(routine, arguments));
  OB_RETURN_IF_ERROR(set_mode(context));
  const Composition* composition = find_composition(routine.base);
  LapackSteps steps(context, routine);
  Info info = composition != nullptr && composition->run != nullptr
                  ? composition->run(steps, arguments)
                  : run_solver(context, routine, arguments);
  if (!info.ok()) return info.status();
  const auto place = std::find(routine.kinds.begin(), routine.kinds.end(), Kind::info);
  return write_info(context, *info, arguments[place - routine.kinds.begin()].host.data);
}

}  // namespace ob::cuda
