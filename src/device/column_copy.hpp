#pragma once
// Copies in the form of device libraries: equal pieces at equal distances.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob {

/// A copy of columns of equal length, at equal distances on both sides. Addresses may be those of
/// a device.   Units: bytes
struct ColumnCopy {
  std::byte* to = nullptr;
  std::uint64_t to_pitch_bytes = 0;
  const std::byte* from = nullptr;
  std::uint64_t from_pitch_bytes = 0;
  std::uint64_t width_bytes = 0;
  std::uint64_t columns = 0;

  /// True if columns do not overlap: what copy functions expect.
  bool disjoint() const noexcept {
    return columns <= 1 || (to_pitch_bytes >= width_bytes && from_pitch_bytes >= width_bytes);
  }
  bool contiguous() const noexcept {
    return columns == 1 || (to_pitch_bytes == width_bytes && from_pitch_bytes == width_bytes);
  }
};

/// Copies at once, or submits a copy.
/// @pre copy.disjoint()
using CopyColumns = std::function<Status(const ColumnCopy&)>;

/// Copies the next count_bytes of one list of pieces to another, with as few copies as the order of
/// the pieces allows.
/// @param max_pitch_bytes the largest pitch of one copy
/// Errors: internal if a list ends early; those of `copy`
Status copy_pieces(Layout::Cursor& to, Layout::Cursor& from, std::uint64_t count_bytes,
                   std::uint64_t max_pitch_bytes, const CopyColumns& copy);

}  // namespace ob
