#include "backend/cuda/blas.hpp"

#include "backend/cuda/blas_call.hpp"
#include "backend/cuda/blas_quick.hpp"
#include "backend/cuda/gemmt.hpp"
#include "base/contract.hpp"
#include "device/blocked_gemmt.hpp"

namespace ob::cuda {

bool blas_has(const Descriptor& routine) noexcept {
  return is_gemmt(routine) || cublas_has(routine);
}

Status run_blas(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_EXPECT(blas_has(routine));
  if (!is_gemmt(routine)) return run_cublas(context, routine, arguments);
  const Operands operands = routine.operands(arguments);
  OB_ASSIGN_OR_RETURN(const bool done, return_quickly(context, routine, arguments, operands));
  return done ? Status() : run_gemmt(context, routine, arguments);
}

}  // namespace ob::cuda
