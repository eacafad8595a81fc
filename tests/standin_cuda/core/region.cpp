#include "region.hpp"

namespace standin {
namespace {

// Returns true if [begin, end) overlaps a row.
bool touches(const Region& region, std::uintptr_t begin, std::uintptr_t end) {
  if (end <= region.address || begin >= region.address + region.extent()) return false;
  if (region.height == 1) return true;
  const std::size_t from = begin <= region.address ? 0 : (begin - region.address) / region.pitch;
  for (std::size_t row = from; row < region.height && row <= from + 1; ++row) {
    const std::uintptr_t first = region.address + row * region.pitch;
    if (begin < first + region.width && first < end) return true;
  }
  return false;
}

}  // namespace

bool Region::overlaps(const Region& other) const noexcept {
  if (extent() == 0 || other.extent() == 0) return false;
  const Region& few = height <= other.height ? *this : other;
  const Region& many = height <= other.height ? other : *this;
  if (!touches(Region{many.address, many.extent(), many.extent(), 1}, few.address,
               few.address + few.extent()))
    return false;
  for (std::size_t row = 0; row < few.height; ++row) {
    const std::uintptr_t first = few.address + row * few.pitch;
    if (touches(many, first, first + few.width)) return true;
  }
  return false;
}

bool Region::covers(const Region& other) const noexcept {
  if (other.extent() == 0) return true;
  if (extent() == 0 || other.address < address ||
      other.address + other.extent() > address + extent())
    return false;
  if (height == 1 || width == pitch) return true;
  if (pitch != other.pitch) return false;
  return (other.address - address) % pitch + other.width <= width;
}

}  // namespace standin
