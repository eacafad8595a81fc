#include "backend/cuda/host_lapack.hpp"

#include "device/host_fallback.hpp"

namespace ob::cuda {

Status run_on_host(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  PinnedBlock block;
  const HostStaging staging{.memory = [&](std::uint64_t size_bytes) -> Result<std::byte*> {
                              OB_ASSIGN_OR_RETURN(block, context.pinned.take(size_bytes));
                              return block.data();
                            },
                            .down = context.copies(cudaMemcpyDeviceToHost),
                            .up = context.copies(cudaMemcpyHostToDevice),
                            .finish = [&] { return context.synchronize(); }};
  return ob::run_on_host(context.host, "NVIDIA's libraries", routine, arguments, staging);
}

}  // namespace ob::cuda
