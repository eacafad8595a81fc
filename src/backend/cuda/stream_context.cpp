#include "backend/cuda/stream_context.hpp"

namespace ob::cuda {

Status StreamContext::synchronize() const {
  return runtime().check(runtime().cudaStreamSynchronize(stream), "waiting for the device");
}

CopyColumns StreamContext::copies(cudaMemcpyKind kind) const {
  return [this, kind](const ColumnCopy& copy) {
    const cudaError_t result =
        copy.contiguous() ? runtime().cudaMemcpyAsync(copy.to, copy.from,
                                                      copy.width_bytes * copy.columns, kind, stream)
                          : runtime().cudaMemcpy2DAsync(copy.to, copy.to_pitch_bytes, copy.from,
                                                        copy.from_pitch_bytes, copy.width_bytes,
                                                        copy.columns, kind, stream);
    return runtime().check(result, "a copy");
  };
}

}  // namespace ob::cuda
