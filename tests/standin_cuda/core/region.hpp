#pragma once
// A piece of a device's memory that work reads or writes.

#include <cstddef>
#include <cstdint>

namespace standin {

/// `height` rows of `width` bytes, `pitch` bytes apart (a matrix's columns).
struct Region {
  std::uintptr_t address = 0;
  std::size_t width = 0;
  std::size_t pitch = 0;
  std::size_t height = 0;

  /// From the first byte to behind the last.
  std::size_t extent() const noexcept {
    return width == 0 || height == 0 ? 0 : (height - 1) * pitch + width;
  }
  bool overlaps(const Region& other) const noexcept;
  /// True if no byte of `other` is outside; false also where that would take long to find out.
  bool covers(const Region& other) const noexcept;
};

/// One access by the work of a stream.
struct Use {
  Region region;
  bool write = false;
  std::uint64_t stream = 0;  ///< its number
  std::uint64_t ticket = 0;  ///< of the work in it
  const char* call = "";     ///< a literal
};

}  // namespace standin
