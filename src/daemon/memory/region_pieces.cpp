#include "daemon/memory/region_pieces.hpp"

#include <algorithm>

#include "base/chunks.hpp"

namespace ob::daemon {
namespace {

using Take = std::function<Status(const Region&)>;

// Returns all of `region`'s elements in one column, as a region without triangle.
Region column_of(const Region& region, std::uint64_t column) {
  std::uint64_t first = 0;
  std::uint64_t end = region.rows;
  switch (region.triangle) {
    case Triangle::full: break;
    case Triangle::upper: end = std::min(column + 1, region.rows); break;
    case Triangle::upper_strict: end = std::min(column, region.rows); break;
    case Triangle::lower: first = std::min(column, region.rows); break;
    case Triangle::lower_strict: first = std::min(column + 1, region.rows); break;
  }
  Region part = region;
  part.triangle = Triangle::full;
  part.offset_bytes += (column * region.ld + first) * region.element_bytes;
  part.rows = end - first;
  part.cols = 1;
  return part;
}

Status in_chunks(const Region& region, std::uint64_t most_bytes, const Take& take) {
  const Chunks chunks(region, most_bytes);
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    const ChunkParts parts = chunks.at(i);  // none beyond a triangle's end
    for (const Region& part : parts.span()) OB_RETURN_IF_ERROR(take(part));
  }
  return {};
}

}  // namespace

Status for_each_piece(const Region& region, std::uint64_t most_bytes, const Take& take) {
  // A region without rows fits in every buffer, whatever number of columns the client names.
  if (packed_bytes(region) == 0) return {};
  const bool upper =
      region.triangle == Triangle::upper || region.triangle == Triangle::upper_strict;
  // Columns of an upper triangle differ in length, so no region has several of them.
  if (upper || region.rows > most_bytes / region.element_bytes) {
    for (std::uint64_t j = 0; j < region.cols; ++j) {
      OB_RETURN_IF_ERROR(in_chunks(column_of(region, j), most_bytes, take));
    }
    return {};
  }
  return in_chunks(region, most_bytes, take);
}

}  // namespace ob::daemon
