#include "backend/cuda/stream_context.hpp"

namespace ob::cuda {

Status StreamContext::synchronize() const {
  return runtime().check(runtime().cudaStreamSynchronize(stream), "waiting for the device");
}

}  // namespace ob::cuda
