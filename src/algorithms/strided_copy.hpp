#pragma once
// Copies between two strided arrays in host memory, including transpositions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace ob::algorithms {

/// One dimension of a copy.   Units: bytes between neighbours on each side
struct CopyAxis {
  std::uint64_t count = 0;
  std::int64_t to_stride = 0;
  std::int64_t from_stride = 0;
};

inline constexpr std::size_t kMaxCopyAxes = 16;

/// The direction of a copy between a strided array and its packed form.
enum class Towards : unsigned char { packed, array };

/// Copies to[sum i_a to_stride_a] = from[sum i_a from_stride_a] for all indices. The order of the
/// axes has no effect: an axis that is contiguous on one side only is copied in tiles.
/// Memory:  `to` and `from` do not overlap   Threads: any
/// @pre axes.size() <= kMaxCopyAxes
void copy_strided(std::byte* to, const std::byte* from, std::uint32_t element_bytes,
                  std::span<const CopyAxis> axes) noexcept;

}  // namespace ob::algorithms
