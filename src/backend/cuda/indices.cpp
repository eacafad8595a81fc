#include "backend/cuda/indices.hpp"

#include <memory>
#include <vector>

namespace ob::cuda {
namespace {

// The call with its pivots on the host. They are there once the stream has run the copies.
struct Here {
  std::unique_ptr<HostCall> call;  // nullptr if the call reads no pivots
  std::vector<PinnedBlock> blocks;
};

Status bring(StreamContext& context, const HostCall& call, Here& here) {
  const Descriptor& routine = *call.routine;
  const Operands operands = routine.operands(call.arguments);
  for (const Operand& operand : operands.span()) {
    if (!operand.read || routine.kinds[operand.argument] != Kind::index_vector) continue;
    if (routine.values[operand.argument] == "any") continue;
    const std::uint64_t size_bytes = operand.rows * sizeof(std::int64_t);
    OB_ASSIGN_OR_RETURN(PinnedBlock block, context.pinned.take(size_bytes));
    std::byte* const to = block.data();
    here.blocks.push_back(std::move(block));
    const Runtime& cuda = context.runtime();
    OB_RETURN_IF_ERROR(
        cuda.check(cuda.cudaMemcpyAsync(to, call.arguments[operand.argument].host.data, size_bytes,
                                        cudaMemcpyDeviceToHost, context.stream),
                   "reading pivots"));
    if (here.call == nullptr) here.call = std::make_unique<HostCall>(call);
    here.call->arguments[operand.argument].host.data = to;
  }
  return {};
}

}  // namespace

Status check_indices(StreamContext& context, const HostCall& call) {
  Here here;
  Status status = bring(context, call, here);
  if (here.call == nullptr) return status;
  Status waited = context.synchronize();  // also after an error: blocks return to their pool
  if (status.ok()) status = std::move(waited);
  return status.ok() ? ob::check_indices(*call.routine, here.call->arguments) : status;
}

}  // namespace ob::cuda
