#include "backend/cuda/routines.hpp"

#include <algorithm>
#include <cstdint>

#include "backend/cuda/blas.hpp"
#include "backend/cuda/host_lapack.hpp"
#include "backend/cuda/lapack.hpp"
#include "backend/cuda/permute.hpp"
#include "device/operand_copies.hpp"
#include "device/permute/permute.hpp"

namespace ob::cuda {
namespace {

// Devices load a complex number with one load, and a misaligned load breaks the whole context.
// Operands of callers need only be aligned to their real and imaginary parts.
bool is_aligned_to_elements(const Operand& operand, const Argument& argument) {
  const auto address = reinterpret_cast<std::uintptr_t>(argument.host.data);
  return address % operand.element_bytes == 0;
}

// Without the compiler of its kernels, a device leaves `permute` to the processor.
bool runs_on_device(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  switch (routine.library) {
    case ob::Library::blas: return blas_has(routine);
    case ob::Library::lapack: return lapack_takes(routine, arguments);
    case ob::Library::block:
      return is_permute(routine) && context.handles.kernels(context.device).ok();
  }
  return false;
}

Status run_on_device(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  switch (routine.library) {
    case ob::Library::blas: return run_blas(context, routine, arguments);
    case ob::Library::lapack: return run_lapack(context, routine, arguments);
    case ob::Library::block: return run_permute(context, arguments);
  }
  return {};
}

}  // namespace

bool Routines::has(const Descriptor& /*routine*/) noexcept { return true; }

Status Routines::run(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  if (!runs_on_device(context, routine, arguments)) return run_on_host(context, routine, arguments);
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
