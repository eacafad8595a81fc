#include "device/device.hpp"

#include "base/aligned_memory.hpp"

namespace ob {

Result<std::shared_ptr<std::byte>> Device::staging(std::uint64_t size_bytes) {
  return aligned_memory(size_bytes);
}

}  // namespace ob
