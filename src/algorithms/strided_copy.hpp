#pragma once
// Copies between two strided arrays in host memory, transpositions included.

#include <cstddef>
#include <cstdint>
#include <span>

namespace ob::algorithms {

/// One dimension of a copy.   Units: bytes between neighbours on either side
struct CopyAxis {
  std::uint64_t count = 0;
  std::int64_t to_stride = 0;
  std::int64_t from_stride = 0;
};

inline constexpr std::size_t kMaxCopyAxes = 16;

/// to[sum i_a to_stride_a] = from[sum i_a from_stride_a] for all indices; the order of the axes is
/// of no importance: what is contiguous on one side only is copied in tiles.
/// Memory:  no byte of `to` is one of `from`   Threads: any
/// @pre axes.size() <= kMaxCopyAxes
void copy_strided(std::byte* to, const std::byte* from, std::uint32_t element_bytes,
                  std::span<const CopyAxis> axes) noexcept;

}  // namespace ob::algorithms
