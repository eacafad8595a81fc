#include "backend/cuda/routines.hpp"

#include <algorithm>
#include <cstdint>

#include "backend/cuda/blas.hpp"
#include "backend/cuda/host_lapack.hpp"
#include "backend/cuda/lapack.hpp"
#include "device/operand_copies.hpp"

namespace ob::cuda {
namespace {

// Devices load a complex number with one load, and a misaligned load breaks the whole context.
// Operands of callers need only be aligned to their real and imaginary parts.
bool is_aligned_to_elements(const Operand& operand, const Argument& argument) {
  const auto address = reinterpret_cast<std::uintptr_t>(argument.host.data);
  return address % operand.element_bytes == 0;
}

Status run_on_device(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  return routine.library == ob::Library::blas ? run_blas(context, routine, arguments)
                                              : run_lapack(context, routine, arguments);
}

}  // namespace

bool Routines::has(const Descriptor& /*routine*/) noexcept { return true; }

Status Routines::run(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  const bool on_device =
      routine.library == ob::Library::blas ? blas_has(routine) : lapack_takes(routine, arguments);
  if (!on_device) return run_on_host(context, routine, arguments);
  Argument aligned[kMaxArguments];
  std::copy(arguments, arguments + routine.kinds.size(), aligned);
  OperandCopies copies(routine, aligned);
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    if (!is_aligned_to_elements(operand, arguments[operand.argument])) copies.add(operand);
  }
  if (copies.empty()) return run_on_device(context, routine, arguments);
  OB_ASSIGN_OR_RETURN(std::byte * memory, context.work.device_bytes(copies.size_bytes()));
  const CopyColumns move = context.copies(cudaMemcpyDeviceToDevice);
  OB_RETURN_IF_ERROR(copies.bring(memory, move));
  OB_RETURN_IF_ERROR(run_on_device(context, routine, aligned));
  return copies.take_back(move);
}

}  // namespace ob::cuda
