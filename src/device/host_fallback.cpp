#include "device/host_fallback.hpp"

#include <algorithm>
#include <string>

#include "device/checked_elements.hpp"

namespace ob {

Status run_on_host(const HostRoutines* host, std::string_view lacking, const Descriptor& routine,
                   const Argument* arguments, const HostStaging& staging) {
  if (host == nullptr || !host->has(routine)) {
    return {Code::unsupported,
            std::string(routine.name) + " is in none of " + std::string(lacking) +
                ", and this machine's BLAS and LAPACK do not have it either; install the Debian "
                "package libopenblas0-pthread, or name a library in OUTBOARD_BLAS"};
  }
  Argument there[kMaxArguments];
  std::copy(arguments, arguments + routine.kinds.size(), there);
  const Operands operands = routine.operands(arguments);
  OperandCopies copies(routine, there);
  for (const Operand& operand : operands.span()) copies.add(operand);
  OB_ASSIGN_OR_RETURN(std::byte * memory, staging.memory(copies.size_bytes()));
  Status status = copies.bring(memory, staging.down);
  const Status arrived = staging.finish();  // submitted copies use the memory
  OB_RETURN_IF_ERROR(status);
  OB_RETURN_IF_ERROR(arrived);
  // The copies are private, so they are checked where they are.
  OB_RETURN_IF_ERROR(check_indices(routine, there));
  OB_RETURN_IF_ERROR(check_finite(routine, there));
  status = host->run(routine, there);
  if (status.ok()) status = copies.take_back(staging.up);
  const Status waited = staging.finish();
  return status.ok() ? waited : status;
}

}  // namespace ob
