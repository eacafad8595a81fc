#include "offload/factor_memory.hpp"

#include <algorithm>

#include "algorithms/factor/call.hpp"

namespace ob::offload {
namespace {

// Memory that the blocks of a matrix do not get, and the fraction that is lost because small
// buffers are rounded up.
constexpr std::uint64_t kSpareBytes = 64 << 10;
constexpr std::uint64_t kRoundingPart = 32;

}  // namespace

std::uint64_t memory_to_factor(std::uint64_t memory_bytes) noexcept {
  return memory_bytes - memory_bytes / kRoundingPart - std::min(memory_bytes / 8, kSpareBytes);
}

bool fits_to_factor(const Descriptor& routine, const Argument* arguments,
                    std::uint64_t memory_bytes) noexcept {
  if (memory_bytes == 0) return true;  // the device does not report its memory
  const std::uint64_t spare_bytes = std::min(memory_bytes / 8, kSpareBytes);
  return algorithms::factor_bytes_at_once(routine, arguments) <=
         static_cast<double>(memory_bytes - spare_bytes);
}

}  // namespace ob::offload
