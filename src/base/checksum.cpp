#include "base/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ob {

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace ob
