#include "device/region_checks.hpp"

#include <bit>
#include <string>

#include "base/overlap.hpp"

namespace ob {
namespace {

constexpr std::size_t kMaxFillBytes = 16;

std::string describe(const Region& region) {
  return std::to_string(region.rows) + " x " + std::to_string(region.cols) + " elements of " +
         std::to_string(region.element_bytes) + " bytes at byte " +
         std::to_string(region.offset_bytes) + ", leading dimension " + std::to_string(region.ld);
}

}  // namespace

Status check_region(const char* command, BufferId id, const HeldMemory& buffer,
                    const Region& region) {
  if (buffer.owner == nullptr) {
    return {Code::invalid_argument,
            std::string(command) + ": buffer " + std::to_string(id.value) + " does not exist"};
  }
  if (!fits(region, buffer.size_bytes)) {
    return {Code::invalid_argument, std::string(command) + ": the region is not inside buffer " +
                                        std::to_string(id.value) + " (" + describe(region) +
                                        ", in " + std::to_string(buffer.size_bytes) + " bytes)"};
  }
  return {};
}

Status check_sizes(const char* command, std::uint64_t from_bytes, std::uint64_t to_bytes) {
  if (from_bytes == to_bytes) return {};
  return {Code::invalid_argument, std::string(command) + ": sizes differ (" +
                                      std::to_string(from_bytes) + " bytes from, " +
                                      std::to_string(to_bytes) + " bytes to)"};
}

Status check_chunks(std::uint64_t chunks, std::uint64_t digests) {
  if (chunks == digests) return {};
  return {Code::invalid_argument, "digest: the region has " + std::to_string(chunks) +
                                      " chunks, not " + std::to_string(digests)};
}

Status check_fill(const Region& region, std::span<const std::byte> element) {
  const std::uint32_t bytes = region.element_bytes;
  if (!std::has_single_bit(bytes) || bytes > kMaxFillBytes) {
    return {Code::invalid_argument,
            "fill: elements of " + std::to_string(bytes) + " bytes (1, 2, 4, 8 or 16)"};
  }
  if (element.size() != bytes) {
    return {Code::invalid_argument, "fill: an element of " + std::to_string(element.size()) +
                                        " bytes for elements of " + std::to_string(bytes)};
  }
  if (region.triangle == Triangle::full) return {};
  return {Code::invalid_argument, "fill: the region is a triangle (a fill is of full regions)"};
}

Status check_disjoint(const char* command, const Region& from, const Region& to) {
  if (!overlap(from, to)) return {};
  return {Code::invalid_argument, std::string(command) + ": the regions overlap (" +
                                      describe(from) + ", and " + describe(to) + ")"};
}

}  // namespace ob
