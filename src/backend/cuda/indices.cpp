#include "backend/cuda/indices.hpp"

#include <memory>
#include <vector>

#include "device/checked_elements.hpp"

namespace ob::cuda {
namespace {

// The call with its pivots on the host. They are there once the stream has run the copies.
struct Here {
  std::unique_ptr<HostCall> call;  // nullptr if the call reads no pivots
  std::vector<PinnedBlock> blocks;
};

// Copies one vector of pivots to workspace, which the call then uses, and from there to the host.
Status bring(StreamContext& context, std::uint64_t size_bytes, void*& on_device, void*& on_host,
             std::vector<PinnedBlock>& blocks) {
  OB_ASSIGN_OR_RETURN(std::byte * copy, context.work.device_bytes(size_bytes));
  OB_ASSIGN_OR_RETURN(PinnedBlock block, context.pinned.take(size_bytes));
  on_host = block.data();
  blocks.push_back(std::move(block));
  const Runtime& cuda = context.runtime();
  OB_RETURN_IF_ERROR(cuda.check(
      cuda.cudaMemcpyAsync(copy, on_device, size_bytes, cudaMemcpyDeviceToDevice, context.stream),
      "copying pivots"));
  on_device = copy;
  return cuda.check(
      cuda.cudaMemcpyAsync(on_host, copy, size_bytes, cudaMemcpyDeviceToHost, context.stream),
      "reading pivots");
}

Status bring(StreamContext& context, HostCall& call, Here& here) {
  const Descriptor& routine = *call.routine;
  const Operands operands = routine.operands(call.arguments);
  for (const Operand& operand : operands.span()) {
    if (!operand.read || !reads_places(routine, operand.argument)) continue;
    if (here.call == nullptr) here.call = std::make_unique<HostCall>(call);
    OB_RETURN_IF_ERROR(bring(context, operand.rows * sizeof(std::int64_t),
                             call.arguments[operand.argument].host.data,
                             here.call->arguments[operand.argument].host.data, here.blocks));
  }
  return {};
}

}  // namespace

Status check_indices(StreamContext& context, HostCall& call) {
  Here here;
  Status status = bring(context, call, here);
  if (here.call == nullptr) return status;
  Status waited = context.synchronize();  // also after an error: blocks return to their pool
  if (status.ok()) status = std::move(waited);
  return status.ok() ? ob::check_indices(*call.routine, here.call->arguments) : status;
}

}  // namespace ob::cuda
