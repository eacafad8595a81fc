#include "backend/cuda/indices.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ob::cuda {

Status check_indices(StreamContext& context, const HostCall& call) {
  const Descriptor& routine = *call.routine;
  const Operands operands = routine.operands(call.arguments);
  std::vector<PinnedBlock> blocks;
  std::unique_ptr<HostCall> here;  // the call with its pivots on the host
  for (const Operand& operand : operands.span()) {
    if (!operand.read || routine.kinds[operand.argument] != Kind::index_vector) continue;
    if (routine.values[operand.argument] == "any") continue;
    const std::uint64_t size_bytes = operand.rows * sizeof(std::int64_t);
    OB_ASSIGN_OR_RETURN(PinnedBlock block, context.pinned.take(size_bytes));
    const Runtime& cuda = context.runtime();
    OB_RETURN_IF_ERROR(
        cuda.check(cuda.cudaMemcpyAsync(block.data(), call.arguments[operand.argument].host.data,
                                        size_bytes, cudaMemcpyDeviceToHost, context.stream),
                   "reading pivots"));
    if (here == nullptr) here = std::make_unique<HostCall>(call);
    here->arguments[operand.argument].host.data = block.data();
    blocks.push_back(std::move(block));
  }
  if (here == nullptr) return {};
  OB_RETURN_IF_ERROR(context.synchronize());
  if (indices_in_range(*here)) return {};
  return {Code::invalid_argument,
          std::string(routine.name) + ": a pivot index is outside 1..n (were they written?)"};
}

}  // namespace ob::cuda
