#include "algorithms/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ob::algorithms {
namespace {

// The consecutive bytes of a row that a transposition moves before it goes on to the next row. With
// two cache lines, the rows that it writes to (8 rows of 16 bytes) stay in a cache of 8 ways, even
// if their distance is a power of two.
constexpr std::uint64_t kTileBytes = 128;

// A copy whose axes that are contiguous on both sides are merged into one run.
struct Copy {
  std::array<CopyAxis, kMaxCopyAxes> axes{};
  std::size_t rank = 0;
  std::uint64_t run_bytes = 0;

  void remove(std::size_t at) {
    for (--rank; at < rank; ++at) axes[at] = axes[at + 1];
  }
};

Copy reduce(std::uint32_t element_bytes, std::span<const CopyAxis> axes) {
  Copy copy;
  copy.run_bytes = element_bytes;
  for (const CopyAxis& axis : axes) {
    if (axis.count != 1) copy.axes[copy.rank++] = axis;
  }
  for (std::size_t i = 0; i < copy.rank;) {
    const CopyAxis axis = copy.axes[i];
    const auto run = static_cast<std::int64_t>(copy.run_bytes);
    if (axis.to_stride != run || axis.from_stride != run) {
      ++i;
      continue;
    }
    copy.run_bytes *= axis.count;
    copy.remove(i);
    i = 0;
  }
  return copy;
}

template <std::size_t kBytes>
void copy_one(std::byte* to, const std::byte* from, std::uint64_t) noexcept {
  std::memcpy(to, from, kBytes);
}

void copy_run(std::byte* to, const std::byte* from, std::uint64_t count_bytes) noexcept {
  std::memcpy(to, from, count_bytes);
}

// Copies all of axis `outer`, in tiles of axis `inner`.
template <auto kCopy>
void copy_plane(std::byte* to, const std::byte* from, std::uint64_t run_bytes,
                const CopyAxis& outer, const CopyAxis& inner) noexcept {
  const std::uint64_t tile = std::max<std::uint64_t>(1, kTileBytes / run_bytes);
  for (std::uint64_t first = 0; first < inner.count; first += tile) {
    const std::uint64_t count = std::min(tile, inner.count - first);
    std::byte* to_row = to + static_cast<std::int64_t>(first) * inner.to_stride;
    const std::byte* from_row = from + static_cast<std::int64_t>(first) * inner.from_stride;
    for (std::uint64_t row = 0; row < outer.count; ++row) {
      std::byte* at = to_row;
      const std::byte* source = from_row;
      for (std::uint64_t i = 0; i < count; ++i) {
        kCopy(at, source, run_bytes);
        at += inner.to_stride;
        source += inner.from_stride;
      }
      to_row += outer.to_stride;
      from_row += outer.from_stride;
    }
  }
}

// Removes from `copy` the densest axis of each side. Both sides may have the same densest axis.
std::pair<CopyAxis, CopyAxis> take_plane(Copy& copy) {
  const auto take = [&](auto stride) {
    if (copy.rank == 0) return CopyAxis{1, 0, 0};
    const auto end = copy.axes.begin() + static_cast<std::ptrdiff_t>(copy.rank);
    const auto densest = std::min_element(copy.axes.begin(), end, [&](auto& a, auto& b) {
      return std::abs(stride(a)) < std::abs(stride(b));
    });
    const CopyAxis axis = *densest;
    copy.remove(static_cast<std::size_t>(densest - copy.axes.begin()));
    return axis;
  };
  const CopyAxis written = take([](const CopyAxis& axis) { return axis.to_stride; });
  const CopyAxis read = take([](const CopyAxis& axis) { return axis.from_stride; });
  // the side whose rows are further apart is traversed along its rows: pages cost more than lines
  const bool along_read = std::abs(written.from_stride) >= std::abs(read.to_stride);
  return along_read ? std::pair(written, read) : std::pair(read, written);
}

template <auto kCopy>
void copy_all(std::byte* to, const std::byte* from, Copy copy) noexcept {
  const auto [outer, inner] = take_plane(copy);
  std::array<std::uint64_t, kMaxCopyAxes> index{};
  for (;;) {
    copy_plane<kCopy>(to, from, copy.run_bytes, outer, inner);
    std::size_t i = 0;
    for (; i < copy.rank; ++i) {
      const CopyAxis& axis = copy.axes[i];
      to += axis.to_stride;
      from += axis.from_stride;
      if (++index[i] < axis.count) break;
      to -= static_cast<std::int64_t>(axis.count) * axis.to_stride;
      from -= static_cast<std::int64_t>(axis.count) * axis.from_stride;
      index[i] = 0;
    }
    if (i == copy.rank) return;
  }
}

}  // namespace

void copy_strided(std::byte* to, const std::byte* from, std::uint32_t element_bytes,
                  std::span<const CopyAxis> axes) noexcept {
  assert(axes.size() <= kMaxCopyAxes);
  for (const CopyAxis& axis : axes) {
    if (axis.count == 0) return;
  }
  const Copy copy = reduce(element_bytes, axes);
  switch (copy.run_bytes) {
    case 4: return copy_all<copy_one<4>>(to, from, copy);
    case 8: return copy_all<copy_one<8>>(to, from, copy);
    case 16: return copy_all<copy_one<16>>(to, from, copy);
    default: return copy_all<copy_run>(to, from, copy);
  }
}

}  // namespace ob::algorithms
