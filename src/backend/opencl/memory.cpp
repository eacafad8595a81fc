#include "backend/opencl/memory.hpp"

#include <iterator>
#include <string>

namespace ob::opencl {
namespace {

// The gap between neighbouring buffers, so that no address belongs to two of them.
constexpr std::uint64_t kGapBytes = 4096;

std::uint64_t number_of(const std::byte* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace

Result<std::unique_ptr<ClMemory>> ClMemory::create(const Cl& cl, const Accelerator& accelerator) {
  cl_int result = CL_SUCCESS;
  const cl_command_queue clearing =
      cl.clCreateCommandQueue(accelerator.context, accelerator.device, 0, &result);
  OB_RETURN_IF_ERROR(Cl::check(result, "making a queue"));
  return std::unique_ptr<ClMemory>(new ClMemory(cl, accelerator, clearing));
}

ClMemory::~ClMemory() { (void)cl_.clReleaseCommandQueue(clearing_); }

Result<std::byte*> ClMemory::obtain(std::uint64_t size_bytes) {
  if (size_bytes > accelerator_.largest_buffer_bytes) {
    return Status(Code::out_of_memory,
                  "no buffer of " + std::to_string(size_bytes) + " bytes (the largest that " +
                      accelerator_.name + " gives has " +
                      std::to_string(accelerator_.largest_buffer_bytes) + "); cut the problem");
  }
  cl_int result = CL_SUCCESS;
  const cl_mem memory =
      cl_.clCreateBuffer(accelerator_.context, CL_MEM_READ_WRITE, size_bytes, nullptr, &result);
  OB_RETURN_IF_ERROR(Cl::check(result, "allocating " + std::to_string(size_bytes) + " bytes"));
  const std::lock_guard lock(mutex_);
  const std::uint64_t address = next_address_;
  next_address_ += (size_bytes + 2 * kGapBytes - 1) / kGapBytes * kGapBytes;
  buffers_.emplace(address, Buffer{memory, size_bytes});
  return reinterpret_cast<std::byte*>(address);
}

void ClMemory::give_back(std::byte* data) noexcept {
  cl_mem memory = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(number_of(data));
    if (found == buffers_.end()) return;
    memory = found->second.memory;
    buffers_.erase(found);
  }
  (void)cl_.clReleaseMemObject(memory);
}

Status ClMemory::clear(std::byte* data, std::uint64_t size_bytes) {
  const Place at = place(data);
  const cl_uint zero = 0;
  OB_RETURN_IF_ERROR(
      Cl::check(cl_.clEnqueueFillBuffer(clearing_, at.buffer, &zero, sizeof zero, at.offset_bytes,
                                        size_bytes, 0, nullptr, nullptr),
                "clearing device memory"));
  return Cl::check(cl_.clFinish(clearing_), "clearing device memory");
}

Place ClMemory::place(const std::byte* data) const {
  const std::uint64_t address = number_of(data);
  const std::lock_guard lock(mutex_);
  auto after = buffers_.upper_bound(address);
  if (after == buffers_.begin()) return {};
  const auto& [first, buffer] = *std::prev(after);
  if (address - first > buffer.size_bytes) return {};
  return {buffer.memory, static_cast<std::size_t>(address - first)};
}

}  // namespace ob::opencl
