#include "backend/cuda/host_lapack.hpp"

#include <algorithm>
#include <string>

#include "backend/cuda/operand_copies.hpp"

namespace ob::cuda {

Status run_on_host(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  if (context.host == nullptr || !context.host->has(routine)) {
    return {Code::unsupported,
            std::string(routine.name) +
                " is in none of NVIDIA's libraries, and this machine's BLAS and LAPACK do not have "
                "it either; install the Debian package libopenblas0-pthread, or name a library in "
                "OUTBOARD_BLAS"};
  }
  Argument there[kMaxArguments];
  std::copy(arguments, arguments + routine.kinds.size(), there);
  const Operands operands = routine.operands(arguments);
  OperandCopies copies(context, routine, there);
  for (const Operand& operand : operands.span()) copies.add(operand);
  OB_ASSIGN_OR_RETURN(const PinnedBlock memory, context.pinned.take(copies.size_bytes()));
  Status status = copies.bring(memory.data(), cudaMemcpyDeviceToHost);
  if (status.ok()) status = context.synchronize();
  if (status.ok()) status = context.host->run(routine, there);
  if (status.ok()) status = copies.take_back(cudaMemcpyHostToDevice);
  // The block must not go back to its pool while it is read or written.
  const Status waited = context.synchronize();
  return status.ok() ? waited : status;
}

}  // namespace ob::cuda
