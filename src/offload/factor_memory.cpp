#include "offload/factor_memory.hpp"

#include <algorithm>

#include "algorithms/factor/call.hpp"
#include "offload/usable_memory.hpp"

namespace ob::offload {
namespace {

// The fraction of the memory (one part in so many) that is lost because small buffers are rounded
// up.
constexpr std::uint64_t kRoundingPart = 32;

}  // namespace

std::uint64_t memory_to_factor(std::uint64_t memory_bytes) noexcept {
  return memory_bytes - memory_bytes / kRoundingPart - spare_memory(memory_bytes);
}

bool fits_to_factor(const Descriptor& routine, const Argument* arguments,
                    std::uint64_t memory_bytes) noexcept {
  if (memory_bytes == 0) return true;  // the device does not report its memory
  return fits_in_memory(algorithms::factor_bytes_at_once(routine, arguments), memory_bytes);
}

}  // namespace ob::offload
