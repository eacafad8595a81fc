#include "backend/opencl/blas.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include "backend/opencl/blas_call.hpp"
#include "backend/opencl/blas_scratch.hpp"
#include "backend/opencl/gemmt.hpp"
#include "base/contract.hpp"
#include "device/blocked_gemmt.hpp"

namespace ob::opencl {
namespace {

// True if CLBlast can address the operands. Its kernels count elements with 32-bit integers from
// the start of a buffer.
bool within_indices(const QueueContext& context, const Descriptor& routine,
                    const Argument* arguments) {
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    const HostOperand& place = arguments[operand.argument].host;
    const Region region = region_of(operand, routine.kinds[operand.argument], place.ld);
    const std::uint64_t offset_bytes =
        context.memory.place(static_cast<const std::byte*>(place.data)).offset_bytes;
    const std::uint64_t end = offset_bytes + region.ld * region.cols * region.element_bytes;
    if (end / region.element_bytes > INT32_MAX) return false;
  }
  return true;
}

// CLBlast (1.5.3) fills its table of parameters in the first call of a process, without a lock, so
// two first calls at once read it half filled. A call that only asks fills it here.
void fill_parameters(const BlasTable& table, const QueueContext& context) {
  static std::once_flag once;
  std::call_once(once, [&] {
    cl_command_queue queue = context.queue;
    std::size_t unused = 0;
    (void)table.CLBlastSGemmTempBufferSize(CLBlastLayoutColMajor, CLBlastTransposeNo,
                                           CLBlastTransposeNo, 1, 1, 1, 0, 1, 0, 1, 0, 1, &queue,
                                           &unused);
  });
}

Status submit(QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  if (!is_gemmt(routine)) return submit_clblast(context, routine, arguments);
  OB_ASSIGN_OR_RETURN(const bool done, return_quickly(context, routine, arguments));
  return done ? Status() : run_gemmt(context, routine, arguments);
}

}  // namespace

bool blas_takes(const QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  if (!is_gemmt(routine) && !clblast_has(routine)) return false;
  if (real_bytes(routine.precision) == 8 && !context.accelerator.has_fp64) return false;
  return context.libraries.blas().ok() && within_indices(context, routine, arguments);
}

// CLBlast allocates memory during a call, and frees it when its kernels are done.
Status run_blas(QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_EXPECT(blas_takes(context, routine, arguments));
  OB_ASSIGN_OR_RETURN(const BlasTable* table, context.libraries.blas());
  fill_parameters(*table, context);
  OB_ASSIGN_OR_RETURN(const std::uint64_t scratch_bytes,
                      blas_scratch_bytes(*table, context, routine, arguments));
  std::shared_ptr<const void> scratch;
  if (scratch_bytes > 0) {
    auto set_aside = context.counted.set_aside(scratch_bytes, DeviceMemory::Aside::for_a_command);
    OB_RETURN_IF_ERROR(set_aside.status().in("memory of CLBlast's own"));
    scratch = std::move(*set_aside);
  }
  Status submitted = submit(context, routine, arguments);
  Status passed = context.synchronize();
  return submitted.ok() ? passed : submitted;
}

}  // namespace ob::opencl
