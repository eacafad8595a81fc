#include "backend/cuda/permute.hpp"

#include "device/permute/permute.hpp"

namespace ob::cuda {
namespace {

// As ob_kernels::Axes of kernels/kernels.cuh.
struct KernelAxes {
  long long extent[kMaxAxes] = {};
  long long from[kMaxAxes] = {};
  int rank = 0;
};

}  // namespace

Status run_permute(StreamContext& context, const Argument* arguments) {
  const Permutation call = Permutation::of(arguments);
  if (call.elements == 0) return {};
  OB_ASSIGN_OR_RETURN(const Kernels* kernels, context.handles.kernels(context.device));
  KernelAxes axes;
  axes.rank = static_cast<int>(call.axes.rank);
  for (unsigned i = 0; i < call.axes.rank; ++i) {
    axes.extent[i] = call.axes.axis[i].extent;
    axes.from[i] = call.axes.axis[i].strides[1];
  }
  const auto elements = static_cast<long long>(call.elements);
  return kernels->launch(context.stream, "ob_permute_d", call.elements, elements, axes, call.alpha,
                         call.a, call.beta, call.b);
}

}  // namespace ob::cuda
