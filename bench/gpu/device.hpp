#pragma once
// The first GPU of this machine, for programs that use it without Outboard.

#include <memory>
#include <string>

#include "backend/cuda/libraries.hpp"
#include "base/status.hpp"

namespace ob::bench::gpu {

/// Ends the program, with the reason, if there is no GPU or something fails.
/// Threads: owner only
class Device {
 public:
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const cuda::Libraries& libraries() const noexcept { return *libraries_; }
  const cuda::Runtime& runtime() const noexcept { return libraries_->runtime(); }
  cudaStream_t stream() const noexcept { return stream_; }
  void synchronize() const;
  /// The name of the device, its memory, and the versions of its driver and libraries.
  std::string description() const;

  Status check(cudaError_t result, const char* what) const { return runtime().check(result, what); }

 private:
  std::unique_ptr<cuda::Libraries> libraries_;
  cudaStream_t stream_ = nullptr;
};

/// Memory of the device, or page-locked memory of the host.
class Block {
 public:
  enum class Where { device, host };
  Block(const Device& device, Where where, std::size_t bytes);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::size_t bytes() const noexcept { return bytes_; }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  const Device& device_;
  const Where where_;
  const std::size_t bytes_;
  void* data_ = nullptr;
};

}  // namespace ob::bench::gpu
