#include "device/fill.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/contract.hpp"

namespace ob {
namespace {

// The first part, which the host writes. Twice the size would not make fills faster by a copy.
constexpr std::uint64_t kSeedBytes = 4096;

void repeat(std::span<const std::byte> element, std::byte* to, std::uint64_t size_bytes) noexcept {
  std::memcpy(to, element.data(), element.size());
  for (std::uint64_t done = element.size(); done < size_bytes;) {
    const std::uint64_t n = std::min(done, size_bytes - done);
    std::memcpy(to + done, to, n);
    done += n;
  }
}

// Returns `count` columns from `first` on.
Layout columns(std::byte* base, Region region, std::uint64_t first, std::uint64_t count) {
  region.offset_bytes += first * region.ld * region.element_bytes;
  region.cols = count;
  return Layout::matrix(base, region);
}

}  // namespace

Status fill(std::byte* base, const Region& region, std::span<const std::byte> element,
            const FillCopies& copies) {
  OB_EXPECT(region.triangle == Triangle::full && element.size() == region.element_bytes);
  Region shape = region;
  if (shape.ld == shape.rows) {  // one column, whose copies are the largest
    shape.rows *= shape.cols;
    shape.cols = 1;
    shape.ld = shape.rows;
  }
  const std::uint64_t column_bytes = shape.rows * shape.element_bytes;
  std::byte* const first = base + shape.offset_bytes;
  std::array<std::byte, kSeedBytes> seed{};
  const std::uint64_t seed_bytes = std::min(kSeedBytes, column_bytes);
  repeat(element, seed.data(), seed_bytes);
  OB_RETURN_IF_ERROR(
      copies.upload(Layout::bytes(first, seed_bytes), Layout::bytes(seed.data(), seed_bytes)));
  for (std::uint64_t done = seed_bytes; done < column_bytes;) {
    const std::uint64_t n = std::min(done, column_bytes - done);
    OB_RETURN_IF_ERROR(copies.copy(Layout::bytes(first + done, n), Layout::bytes(first, n)));
    done += n;
  }
  for (std::uint64_t done = 1; done < shape.cols;) {
    const std::uint64_t n = std::min(done, shape.cols - done);
    OB_RETURN_IF_ERROR(copies.copy(columns(base, shape, done, n), columns(base, shape, 0, n)));
    done += n;
  }
  return {};
}

void fill(std::byte* base, const Region& region, std::span<const std::byte> element) noexcept {
  // A part that stays in the innermost cache while it is copied.
  alignas(64) std::array<std::byte, kSeedBytes> seed;
  const std::uint64_t column_bytes = region.rows * region.element_bytes;
  const std::uint64_t seed_bytes = std::min(kSeedBytes, column_bytes);
  repeat(element, seed.data(), seed_bytes);
  for (std::uint64_t column = 0; column < region.cols; ++column) {
    std::byte* const to = base + region.offset_bytes + column * region.ld * region.element_bytes;
    for (std::uint64_t done = 0; done < column_bytes; done += kSeedBytes) {
      std::memcpy(to + done, seed.data(), std::min(kSeedBytes, column_bytes - done));
    }
  }
}

}  // namespace ob
