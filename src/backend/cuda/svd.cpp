#include "backend/cuda/svd.hpp"

#include <algorithm>

namespace ob::cuda {
namespace {

using Info = LapackSteps::Info;

struct Svd {
  char jobu;
  char jobvt;
  std::int64_t m;
  std::int64_t n;
  HostOperand a;
  HostOperand s;
  HostOperand u;
  HostOperand vt;
};

Info tall(LapackSteps& s, const Svd& p) {
  // cuSOLVER checks leading dimensions even if there is no matrix.
  return s.solve(SubCall(s.routine(), "gesvd")
                     .flag(p.jobu)
                     .flag(p.jobvt)
                     .dim(p.m)
                     .dim(p.n)
                     .operand(p.a)
                     .operand(p.s)
                     .operand(p.u.data, std::max(p.u.ld, p.m))
                     .operand(p.vt.data, std::max(p.vt.ld, p.n))
                     .info());
}

// Computes the decomposition of a wide matrix from A^H = V S U^H.
Info wide(LapackSteps& s, const Svd& p) {
  OB_ASSIGN_OR_RETURN(const HostOperand adjoint, s.matrix(p.n, p.m));
  OB_RETURN_IF_ERROR(s.conjugate_transpose(p.m, p.n, p.a, adjoint));
  const std::int64_t v_cols = p.jobvt == 'A' ? p.n : p.m;
  HostOperand v{nullptr, 1};
  HostOperand uh{nullptr, 1};
  if (p.jobvt != 'N') {
    OB_ASSIGN_OR_RETURN(v, s.matrix(p.n, v_cols));
  }
  if (p.jobu != 'N') {
    OB_ASSIGN_OR_RETURN(uh, s.matrix(p.m, p.m));
  }
  const Svd other{p.jobvt, p.jobu, p.n, p.m, adjoint, p.s, v, uh};
  OB_ASSIGN_OR_RETURN(const std::int64_t info, tall(s, other));
  if (info > 0) return info;
  if (p.jobvt != 'N') {
    OB_RETURN_IF_ERROR(s.conjugate_transpose(p.n, v_cols, v, p.vt));
  }
  if (p.jobu != 'N') {
    OB_RETURN_IF_ERROR(s.conjugate_transpose(p.m, p.m, uh, p.u));
  }
  return info;
}

Info run(LapackSteps& steps, const Svd& problem) {
  return problem.m >= problem.n ? tall(steps, problem) : wide(steps, problem);
}

}  // namespace

bool gesvd_takes(const Argument* a) { return a[0].flag != 'O' && a[1].flag != 'O'; }
bool gesdd_takes(const Argument* a) { return a[0].flag != 'O'; }

Info gesvd(LapackSteps& steps, const Argument* a) {
  enum { kJobU, kJobVt, kM, kN, kA, kS, kU, kVt };
  return run(steps, {a[kJobU].flag, a[kJobVt].flag, a[kM].dim, a[kN].dim, a[kA].host, a[kS].host,
                     a[kU].host, a[kVt].host});
}

Info gesdd(LapackSteps& steps, const Argument* a) {
  enum { kJobZ, kM, kN, kA, kS, kU, kVt };
  return run(steps, {a[kJobZ].flag, a[kJobZ].flag, a[kM].dim, a[kN].dim, a[kA].host, a[kS].host,
                     a[kU].host, a[kVt].host});
}

}  // namespace ob::cuda
