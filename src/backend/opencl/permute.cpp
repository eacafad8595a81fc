#include "backend/opencl/permute.hpp"

#include "base/contract.hpp"
#include "device/permute/permute.hpp"

namespace ob::opencl {
namespace {

// As ob_axes of kernels/kernels.cl.
struct KernelAxes {
  cl_long extent[kMaxAxes] = {};
  cl_long from[kMaxAxes] = {};
  cl_long rank = 0;
};

}  // namespace

Status run_permute(QueueContext& context, const Argument* arguments) {
  OB_EXPECT(context.accelerator.has_fp64);
  const Permutation call = Permutation::of(arguments);
  if (call.elements == 0) return {};
  OB_ASSIGN_OR_RETURN(const Kernels* kernels, context.libraries.kernels());
  KernelAxes axes;
  axes.rank = call.axes.rank;
  for (unsigned i = 0; i < call.axes.rank; ++i) {
    axes.extent[i] = call.axes.axis[i].extent;
    axes.from[i] = call.axes.axis[i].strides[1];
  }
  const auto place = [&](const double* at) {
    return context.memory.place(reinterpret_cast<const std::byte*>(at));
  };
  const auto offset = [](const Place& at) {
    return static_cast<cl_long>(at.offset_bytes / sizeof(double));
  };
  const Place a = place(call.a);
  const Place b = place(call.b);
  // Work-items come in two dimensions, the second of which has no use here.
  OB_RETURN_IF_ERROR(kernels->launch(context.queue, "ob_permute_d",
                                     static_cast<std::uint64_t>(call.elements), 1, axes, call.alpha,
                                     a.buffer, offset(a), call.beta, b.buffer, offset(b)));
  return context.synchronize();
}

}  // namespace ob::opencl
