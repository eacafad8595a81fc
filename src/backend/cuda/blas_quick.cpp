#include "backend/cuda/blas_quick.hpp"

#include <string>

#include "device/quick_return.hpp"

namespace ob::cuda {
namespace {

// C := s C.
Status scale(StreamContext& context, const Descriptor& routine, const Argument* arguments,
             const QuickReturn& quick) {
  const Region region = quick.region(routine, arguments);
  OB_ASSIGN_OR_RETURN(const Kernels* kernels, context.handles.kernels(context.device));
  const auto rows = static_cast<long long>(region.rows);
  const auto cols = static_cast<long long>(region.cols);
  return kernels->launch(context.stream, std::string("ob_scale_") + routine.name.front(),
                         rows * cols, triangle_code(region.triangle), quick.hermitian ? 1 : 0, rows,
                         cols, quick.factor.re, quick.factor.im,
                         arguments[quick.result.argument].host.data,
                         static_cast<long long>(region.ld));
}

}  // namespace

int triangle_code(Triangle triangle) noexcept {
  switch (triangle) {
    case Triangle::upper: return 1;
    case Triangle::lower: return 2;
    default: return 0;
  }
}

Result<bool> return_quickly(StreamContext& context, const Descriptor& routine,
                            const Argument* arguments, const Operands& operands) {
  const QuickReturn quick = quick_return(routine, arguments, operands);
  switch (quick.left) {
    case QuickReturn::Left::everything: return false;
    case QuickReturn::Left::nothing: break;
    case QuickReturn::Left::scaling:
      OB_RETURN_IF_ERROR(scale(context, routine, arguments, quick));
      break;
    case QuickReturn::Left::zero:
      OB_RETURN_IF_ERROR(context.runtime().check(
          context.runtime().cudaMemsetAsync(arguments[quick.result.argument].host.data, 0,
                                            quick.result.element_bytes, context.stream),
          "clearing a result"));
      break;
  }
  return true;
}

}  // namespace ob::cuda
