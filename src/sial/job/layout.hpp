#pragma once
// The sizes of a program's indices in a job: numbers of segments and their extents.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sial/code/program.hpp"

namespace ob::sial {

/// Answers for the indices of one program, by their numbers in Program::indices. It is a value:
/// copies are independent, and any thread may read.
/// The functions do not check their arguments: a segment lies in [1, segments(index)], or is any
/// number for a simple index. Elements are numbered from 1 along the whole axis of a table, so that
/// two indices of one table with different ranges name different elements.
struct Layout {
  struct IndexRange {
    IndexKind kind = IndexKind::simple;
    /// Inclusive; empty if upper == lower - 1. Of a subindex: 1 to the largest number of
    /// subsegments of a segment in its parent's range.
    std::int64_t lower = 1, upper = 0;
    std::uint32_t parent = kNone;  ///< of a subindex
    /// The extents of all segments of a segmented index's table, by number - 1.
    std::vector<std::int64_t> extents;
    /// The number of the first element of each segment of a segmented index, by number - 1, and
    /// one more entry behind the last.
    std::vector<std::int64_t> first;
    /// The number of parts into which subindices of a segmented index cut a long segment.
    std::int64_t parts = 4;

    std::int64_t count() const noexcept { return upper - lower + 1; }
    bool contains(std::int64_t segment) const noexcept {
      return lower <= segment && segment <= upper;
    }
  };
  std::vector<IndexRange> indices;

  const IndexRange& range(std::uint32_t index) const noexcept { return indices[index]; }

  /// Returns how many segments the axis of a segmented index has, also outside of its range.
  std::int64_t segments(std::uint32_t index) const noexcept {
    return static_cast<std::int64_t>(indices[index].extents.size());
  }

  /// Returns the number of elements of a segment; 1 for a simple index.   Not of a subindex.
  std::int64_t extent(std::uint32_t index, std::int64_t segment) const noexcept {
    const IndexRange& of = indices[index];
    return of.kind == IndexKind::simple ? 1 : of.extents[static_cast<std::size_t>(segment - 1)];
  }

  /// Returns the number of a segment's first element on its axis, from 1. A simple index has one
  /// element per number, which has that number.   Not of a subindex.
  std::int64_t first_element(std::uint32_t index, std::int64_t segment) const noexcept {
    const IndexRange& of = indices[index];
    return of.kind == IndexKind::simple ? segment : of.first[static_cast<std::size_t>(segment - 1)];
  }

  /// Returns where a segment begins in a whole array over this index, from 0. The array has the
  /// elements of the index's range only.   Not of a subindex.
  std::int64_t offset_in_range(std::uint32_t index, std::int64_t segment) const noexcept {
    return first_element(index, segment) - first_element(index, indices[index].lower);
  }

  /// Returns the number of elements in the index's range: an extent of a whole array.   Not of a
  /// subindex.
  std::int64_t elements(std::uint32_t index) const noexcept {
    const IndexRange& of = indices[index];
    return of.kind == IndexKind::simple ? of.count()
                                        : of.first[static_cast<std::size_t>(of.upper)] -
                                              of.first[static_cast<std::size_t>(of.lower - 1)];
  }

  /// Returns the largest extent of a segment in the index's range, 0 if that is empty. Of a
  /// subindex: the largest extent of a subsegment.
  std::int64_t largest_extent(std::uint32_t index) const noexcept;

  /// Returns into how many subsegments a subindex cuts the segment `parent_segment` of its parent.
  std::int64_t subsegments(std::uint32_t subindex, std::int64_t parent_segment) const noexcept {
    const std::uint32_t parent = indices[subindex].parent;
    return std::min(indices[parent].parts, extent(parent, parent_segment));
  }

  /// Returns the number of elements of subsegment `number`, which is in
  /// [1, subsegments(subindex, parent_segment)]. The first ones are one element larger if the
  /// extent is no multiple of their number.
  std::int64_t sub_extent(std::uint32_t subindex, std::int64_t parent_segment,
                          std::int64_t number) const noexcept {
    const std::int64_t whole = extent(indices[subindex].parent, parent_segment);
    const std::int64_t parts = subsegments(subindex, parent_segment);
    return whole / parts + (number <= whole % parts ? 1 : 0);
  }

  /// Returns where subsegment `number` begins in its segment, from 0.
  std::int64_t sub_offset(std::uint32_t subindex, std::int64_t parent_segment,
                          std::int64_t number) const noexcept {
    const std::int64_t whole = extent(indices[subindex].parent, parent_segment);
    const std::int64_t parts = subsegments(subindex, parent_segment);
    return (number - 1) * (whole / parts) + std::min(number - 1, whole % parts);
  }
};

}  // namespace ob::sial
