#include "interpose/fftw_arrays.hpp"

#include <cstdlib>

namespace ob::interpose {
namespace {

// One array in memory.
struct Extent {
  std::intptr_t low = 0;
  std::intptr_t high = 0;
};

Extent extent(const void* array, const ByteRange& range) noexcept {
  const auto at = reinterpret_cast<std::intptr_t>(array);
  return {at + range.low, at + range.high};
}

// The one or two arrays of one side.
struct SideExtents {
  Extent arrays[2];
  int count = 1;
};

SideExtents extents(const void* array, const void* imaginary, bool split,
                    const ByteRange& range) noexcept {
  SideExtents side{{extent(array, range), {}}, split ? 2 : 1};
  if (split) side.arrays[1] = extent(imaginary, range);
  return side;
}

bool overlap(const SideExtents& a, const SideExtents& b) noexcept {
  for (int i = 0; i < a.count; ++i) {
    for (int k = 0; k < b.count; ++k) {
      if (a.arrays[i].low < b.arrays[k].high && b.arrays[k].low < a.arrays[i].high) return true;
    }
  }
  return false;
}

// The largest distance. No address space is larger, and sums with the extent of a layout cannot
// overflow.
constexpr std::int64_t kMaxDistanceBytes = std::int64_t{1} << 57;

bool set_distance(FftSide& side, const void* real, const void* imaginary) noexcept {
  const std::int64_t distance =
      reinterpret_cast<std::intptr_t>(imaginary) - reinterpret_cast<std::intptr_t>(real);
  side.dims[static_cast<std::size_t>(side.dimensions) - 1].stride_bytes = distance;
  return distance != 0 && std::abs(distance) < kMaxDistanceBytes;
}

bool arrays_are_there(const FftwArrays& arrays, bool split_in, bool split_out) noexcept {
  return arrays.input != nullptr && arrays.output != nullptr &&
         (!split_in || arrays.input_imaginary != nullptr) &&
         (!split_out || arrays.output_imaginary != nullptr);
}

bool both_in_place(const FftwArrays& arrays, FftKind kind, bool split) noexcept {
  if (arrays.input != arrays.output) return false;
  return !split || kind != FftKind::c2c || arrays.input_imaginary == arrays.output_imaginary;
}

}  // namespace

bool elements_are_distinct(std::span<const Layout::Dimension> dims,
                           std::int64_t element_bytes) noexcept {
  std::array<Layout::Dimension, Layout::kMaxDimensions> sorted{};
  int count = 0;
  for (const Layout::Dimension& d : dims) {
    if (d.count == 1) continue;
    const Layout::Dimension added{d.count, std::abs(d.stride_bytes)};
    int at = count++;
    for (; at > 0 && sorted[at - 1].stride_bytes > added.stride_bytes; --at) {
      sorted[at] = sorted[at - 1];
    }
    sorted[at] = added;
  }
  std::int64_t extent = element_bytes;
  for (int i = 0; i < count; ++i) {
    if (sorted[i].stride_bytes < extent) return false;
    extent += sorted[i].stride_bytes * static_cast<std::int64_t>(sorted[i].count - 1);
  }
  return true;
}

bool place(const FftwOffload& offload, const FftwArrays& arrays, FftTransform& placed) noexcept {
  const FftKind kind = offload.transform.plan.kind;
  const bool split_in = offload.split && is_complex(kind, true);
  const bool split_out = offload.split && is_complex(kind, false);
  if (!arrays_are_there(arrays, split_in, split_out)) return false;
  if (offload.transform.plan.in_place) {
    // All input is read before any result is written, so the sides may share memory in any way.
    if (!both_in_place(arrays, kind, offload.split)) return false;
  } else if (overlap(extents(arrays.input, arrays.input_imaginary, split_in, offload.input),
                     extents(arrays.output, arrays.output_imaginary, split_out, offload.output))) {
    return false;
  }
  placed = offload.transform;
  if (split_in && !set_distance(placed.input, arrays.input, arrays.input_imaginary)) return false;
  if (!split_out) return true;
  const FftSide& out = placed.output;
  return set_distance(placed.output, arrays.output, arrays.output_imaginary) &&
         elements_are_distinct({out.dims.data(), static_cast<std::size_t>(out.dimensions)},
                               out.element_bytes);
}

}  // namespace ob::interpose
