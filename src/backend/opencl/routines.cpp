#include "backend/opencl/routines.hpp"

#include <algorithm>

#include "backend/opencl/blas.hpp"
#include "backend/opencl/permute.hpp"
#include "device/host_fallback.hpp"
#include "device/operand_copies.hpp"
#include "device/permute/permute.hpp"

namespace ob::opencl {
namespace {

using Way = QueueContext::Way;

Status run_here(const QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  HostBlock block;
  const HostStaging staging{.memory = [&](std::uint64_t size_bytes) -> Result<std::byte*> {
                              OB_ASSIGN_OR_RETURN(block, HostBlock::allocate(size_bytes));
                              return block.data.get();
                            },
                            .down = context.copies(Way::to_host),
                            .up = context.copies(Way::to_device),
                            .finish = [&] { return context.synchronize(); }};
  return run_on_host(context.host, "this device's libraries", routine, arguments, staging);
}

// CLBlast counts in whole elements. Operands of callers need only be aligned to their real and
// imaginary parts.
bool is_aligned(const Operand& operand, const Argument& argument) {
  return reinterpret_cast<std::uintptr_t>(argument.host.data) % operand.element_bytes == 0;
}

}  // namespace

Status run_routine(QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  if (is_permute(routine) && context.accelerator.has_fp64) return run_permute(context, arguments);
  if (!blas_takes(context, routine, arguments)) return run_here(context, routine, arguments);
  Argument aligned[kMaxArguments];
  std::copy(arguments, arguments + routine.kinds.size(), aligned);
  OperandCopies copies(routine, aligned);
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    if (!is_aligned(operand, arguments[operand.argument])) copies.add(operand);
  }
  if (copies.empty()) return run_blas(context, routine, arguments);
  OB_ASSIGN_OR_RETURN(std::byte * memory, context.work.device_bytes(copies.size_bytes()));
  const CopyColumns move = context.copies(Way::inside);
  OB_RETURN_IF_ERROR(copies.bring(memory, move));
  OB_RETURN_IF_ERROR(run_blas(context, routine, aligned));
  return copies.take_back(move);
}

}  // namespace ob::opencl
