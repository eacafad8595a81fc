#pragma once
// A region of a device's memory that work reads or writes.

#include <cstddef>
#include <cstdint>

namespace standin {

/// `height` rows of `width` bytes, `pitch` bytes apart. Each column of a matrix is such a row.
struct Region {
  std::uintptr_t address = 0;
  std::size_t width = 0;
  std::size_t pitch = 0;
  std::size_t height = 0;

  /// Returns the number of bytes from the first byte to behind the last.
  std::size_t extent() const noexcept {
    return width == 0 || height == 0 ? 0 : (height - 1) * pitch + width;
  }
  bool overlaps(const Region& other) const noexcept;
  /// Returns true if no byte of `other` is outside. May return false where the search takes long.
  bool covers(const Region& other) const noexcept;
};

/// One access by the work of a stream.
struct Use {
  Region region;
  bool write = false;
  std::uint64_t stream = 0;    ///< the number of the stream
  std::uint64_t position = 0;  ///< the position of the work in the stream
  const char* call = "";       ///< a string literal
};

}  // namespace standin
