#include "sial/job/layout.hpp"

namespace ob::sial {

std::int64_t Layout::largest_extent(std::uint32_t index) const noexcept {
  const IndexRange& of = indices[index];
  if (of.kind == IndexKind::simple) return of.count() > 0 ? 1 : 0;
  const bool sub = of.kind == IndexKind::subindex;
  const std::uint32_t axis = sub ? of.parent : index;
  std::int64_t largest = 0;
  for (std::int64_t segment = indices[axis].lower; segment <= indices[axis].upper; ++segment) {
    // The first subsegment is the largest.
    const std::int64_t here = sub ? sub_extent(index, segment, 1) : extent(axis, segment);
    largest = std::max(largest, here);
  }
  return largest;
}

}  // namespace ob::sial
