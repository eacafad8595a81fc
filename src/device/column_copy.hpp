#pragma once
// Copies in the form that devices' libraries know: equal pieces at equal distances.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob {

/// Columns of equal length, at equal distances there and here. Addresses may be a device's.
/// Units: bytes   @pre columns == 1 or both pitches >= width_bytes
struct ColumnCopy {
  std::byte* to = nullptr;
  std::uint64_t to_pitch_bytes = 0;
  const std::byte* from = nullptr;
  std::uint64_t from_pitch_bytes = 0;
  std::uint64_t width_bytes = 0;
  std::uint64_t columns = 0;

  bool contiguous() const noexcept {
    return columns == 1 || (to_pitch_bytes == width_bytes && from_pitch_bytes == width_bytes);
  }
};

/// Copies, or submits a copy.
using CopyColumns = std::function<Status(const ColumnCopy&)>;

/// Copies the next count_bytes of two lists of pieces, as few copies as the order of the pieces
/// allows.
/// @param max_pitch_bytes of one copy
/// Errors: internal if either ends before; those of `copy`
Status copy_pieces(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                   std::uint64_t max_pitch_bytes, const CopyColumns& copy);

}  // namespace ob
