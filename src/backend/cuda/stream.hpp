#pragma once
// A stream of a device.

#include <memory>

#include "backend/cuda/gpu.hpp"

namespace ob::cuda {

/// Owns a stream that does not synchronize with the default stream.   Threads: one at a time
class Stream {
 public:
  /// Errors: device_error
  static Result<std::unique_ptr<Stream>> create(const Gpu& gpu) {
    OB_RETURN_IF_ERROR(gpu.make_current());
    cudaStream_t stream = nullptr;
    OB_RETURN_IF_ERROR(
        gpu.runtime().check(gpu.runtime().cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                            "making a stream"));
    return std::unique_ptr<Stream>(new Stream(gpu, stream));
  }
  ~Stream() {
    if (gpu_.make_current().ok()) (void)gpu_.runtime().cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const noexcept { return stream_; }

 private:
  Stream(const Gpu& gpu, cudaStream_t stream) : gpu_(gpu), stream_(stream) {}
  const Gpu gpu_;
  const cudaStream_t stream_;
};

}  // namespace ob::cuda
