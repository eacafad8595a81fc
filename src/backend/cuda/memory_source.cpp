#include "backend/cuda/memory_source.hpp"

#include <string>
#include <utility>

namespace ob::cuda {

Result<std::unique_ptr<MemorySource>> CudaMemorySource::create(const Gpu& gpu) {
  OB_ASSIGN_OR_RETURN(std::unique_ptr<Stream> clearing, Stream::create(gpu));
  return std::unique_ptr<MemorySource>(new CudaMemorySource(gpu, std::move(clearing)));
}

Result<std::byte*> CudaMemorySource::obtain(std::uint64_t size_bytes) {
  OB_RETURN_IF_ERROR(gpu_.make_current());
  void* data = nullptr;
  OB_RETURN_IF_ERROR(
      gpu_.runtime().check(gpu_.runtime().cudaMalloc(&data, size_bytes),
                           ("allocating " + std::to_string(size_bytes) + " bytes").c_str()));
  return static_cast<std::byte*>(data);
}

void CudaMemorySource::give_back(std::byte* data) noexcept {
  if (gpu_.make_current().ok()) (void)gpu_.runtime().cudaFree(data);
}

Status CudaMemorySource::clear(std::byte* data, std::uint64_t size_bytes) {
  const Runtime& cuda = gpu_.runtime();
  OB_RETURN_IF_ERROR(gpu_.make_current());
  OB_RETURN_IF_ERROR(cuda.check(cuda.cudaMemsetAsync(data, 0, size_bytes, clearing_->get()),
                                "cleaning device memory"));
  return cuda.check(cuda.cudaStreamSynchronize(clearing_->get()), "cleaning device memory");
}

}  // namespace ob::cuda
