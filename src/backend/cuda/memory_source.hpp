#pragma once
// The allocator of an accelerator's memory.

#include <memory>

#include "backend/cuda/gpu.hpp"
#include "backend/cuda/stream.hpp"
#include "device/memory_source.hpp"

namespace ob::cuda {

class CudaMemorySource final : public MemorySource {
 public:
  /// Errors: device_error
  static Result<std::unique_ptr<MemorySource>> create(const Gpu& gpu);

  Result<std::byte*> obtain(std::uint64_t size_bytes) override;
  void give_back(std::byte* data) noexcept override;
  Status clear(std::byte* data, std::uint64_t size_bytes) override;

 private:
  CudaMemorySource(const Gpu& gpu, std::unique_ptr<Stream> clearing)
      : gpu_(gpu), clearing_(std::move(clearing)) {}

  const Gpu gpu_;
  const std::unique_ptr<Stream> clearing_;
};

}  // namespace ob::cuda
