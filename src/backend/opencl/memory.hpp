#pragma once
// The memory of an OpenCL device, and addresses for it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backend/opencl/accelerator.hpp"
#include "device/memory_source.hpp"

namespace ob::opencl {

/// A place in memory in OpenCL's terms.
struct Place {
  cl_mem buffer = nullptr;
  std::size_t offset_bytes = 0;
};

/// OpenCL 1.2 has buffers and offsets instead of device addresses. Each buffer gets a range of
/// addresses that no process has. Commands compute with them as with any other addresses. A host
/// thread that dereferences one by mistake crashes at once.
/// Threads: any
class ClMemory final : public MemorySource {
 public:
  /// The first address. No processor's page tables reach it, and the remaining addresses of 64 bits
  /// never run out.
  static constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 58;

  /// Errors: device_error
  static Result<std::unique_ptr<ClMemory>> create(const Cl& cl, const Accelerator& accelerator);
  ~ClMemory() override;
  ClMemory(const ClMemory&) = delete;
  ClMemory& operator=(const ClMemory&) = delete;

  Result<std::byte*> obtain(std::uint64_t size_bytes) override;
  void give_back(std::byte* data) noexcept override;
  Status clear(std::byte* data, std::uint64_t size_bytes) override;

  /// Converts an address.
  /// @param data an address in, or at the end of, memory that is not freed yet
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
  mutable std::mutex mutex_;                 // guards all below
  std::map<std::uint64_t, Buffer> buffers_;  // by their first addresses
  std::uint64_t next_address_ = kFirstAddress;
};

}  // namespace ob::opencl
