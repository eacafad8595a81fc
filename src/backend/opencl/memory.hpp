#pragma once
// The memory that OpenCL gives of a device, and addresses for it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backend/opencl/accelerator.hpp"
#include "device/memory_source.hpp"

namespace ob::opencl {

/// A place in memory as OpenCL knows it.
struct Place {
  cl_mem buffer = nullptr;
  std::size_t offset_bytes = 0;
};

/// OpenCL 1.2 has no addresses on the host's side, only buffers and offsets. Each buffer gets a
/// range of addresses that no process has: commands count with them as with any other, and a host
/// that follows one by mistake stops at once.
/// Threads: any
class ClMemory final : public MemorySource {
 public:
  /// Beyond what any processor's pages reach; the rest of 64 bits lasts for ever.
  static constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 58;

  /// Errors: device_error
  static Result<std::unique_ptr<ClMemory>> create(const Cl& cl, const Accelerator& accelerator);
  ~ClMemory() override;
  ClMemory(const ClMemory&) = delete;
  ClMemory& operator=(const ClMemory&) = delete;

  Result<std::byte*> obtain(std::uint64_t size_bytes) override;
  void give_back(std::byte* data) noexcept override;
  Status clear(std::byte* data, std::uint64_t size_bytes) override;

  /// @pre `data` lies in memory that was obtained and not given back, or at its end
  Place place(const std::byte* data) const;

 private:
  struct Buffer {
    cl_mem memory;
    std::uint64_t size_bytes;
  };

  ClMemory(const Cl& cl, const Accelerator& accelerator, cl_command_queue clearing)
      : cl_(cl), accelerator_(accelerator), clearing_(clearing) {}

  const Cl& cl_;
  const Accelerator& accelerator_;
  const cl_command_queue clearing_;
  mutable std::mutex mutex_;                 // of all below
  std::map<std::uint64_t, Buffer> buffers_;  // by their first addresses
  std::uint64_t next_address_ = kFirstAddress;
};

}  // namespace ob::opencl
