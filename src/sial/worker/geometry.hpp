#pragma once
// Where the blocks of a program's arrays are: numbers, extents, places inside whole statics.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/blocks/shape.hpp"
#include "sial/code/program.hpp"
#include "sial/job/layout.hpp"
#include "sial/operations/axes.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

/// The values of all indices of a program, by number.
using IndexValues = std::vector<std::int64_t>;

/// A block that a selector means while the indices have their values.
struct BlockPlace {
  std::uint32_t array = 0;
  std::uint64_t number = 0;  ///< row-major over the segments, last index fastest
  Shape shape;
  std::array<std::int64_t, kMaxRank> segments{};  ///< as the program names them
  std::array<std::uint32_t, kMaxRank> labels{};
  std::uint32_t simple = 0;  ///< bit d: dimension d belongs to a simple index
  /// The part that subindices select from a block of segmented indices; else all of it.
  std::array<std::int64_t, kMaxRank> part_offsets{};
  Shape part;
};

/// The places and extents of all blocks of a program. It refers to the program and its layout.
/// Threads: any, once made
class Geometry {
 public:
  /// Memory: `program` and `layout` must live longer
  /// Errors: invalid_argument (R05, R10) if an array has more blocks than numbers
  static Result<Geometry> create(const Program& program, const Layout& layout);

  /// Sets `place` to the block of selector `selector`. What `place` has beyond the rank stays as it
  /// was.
  /// Errors: invalid_argument (R05) if an index is outside of the declared range
  /// @param segments per dimension: the segment that `*` means; not read if there is no `*`
  Status resolve(std::uint32_t selector, const IndexValues& values, BlockPlace& place,
                 const std::int64_t* segments = nullptr) const;

  /// Returns the extents of a whole array [elements].
  const Shape& whole(std::uint32_t array) const noexcept { return arrays_[array].whole; }
  /// Sets `view` to a block inside a whole static array that begins at `data`. What a view has
  /// beyond the rank of the block stays as it was, here and in alone(): statements use views again.
  template <class Element>
  void inside(const BlockPlace& place, Element* data, BasicView<Element>& view) const noexcept;
  /// Sets `view` to a block in memory of its own.
  template <class Element>
  static void alone(const BlockPlace& place, Element* data, BasicView<Element>& view) noexcept;
  /// Narrows a view to the part that the place's subindices select.
  template <class Element>
  static BasicView<Element> part(const BlockPlace& place, BasicView<Element> view) noexcept;

  /// Returns the extents of a region of an array [elements].
  /// @param bounds lower and upper segment, inclusive, of each dimension in order
  /// Errors: invalid_argument (R06) if it is not inside of the declared ranges
  Result<Shape> region(std::uint32_t array, const std::int64_t* bounds) const;
  /// Returns the number of elements in dimension `d` of an array in front of `segment`, counted
  /// from `from`.
  std::int64_t elements_between(std::uint32_t array, unsigned d, std::int64_t from,
                                std::int64_t segment) const noexcept;
  /// Returns the lowest and highest segment of dimension `d`.
  std::int64_t lowest(std::uint32_t array, unsigned d) const noexcept;
  std::int64_t highest(std::uint32_t array, unsigned d) const noexcept;
  /// Returns the most parts of a segment that dimension `d` is declared with; 1 for no subindex.
  std::int64_t subsegments(std::uint32_t array, unsigned d) const noexcept {
    return arrays_[array].dimensions[d].subsegments;
  }
  /// True if dimension `d` is declared with a subindex.
  bool has_subsegments(std::uint32_t array, unsigned d) const noexcept;
  /// Returns the 1-based number of the first element of a segment in its table.
  std::int64_t first_element(std::uint32_t array, unsigned d, std::int64_t segment) const noexcept;
  /// Returns the number of elements in all blocks with lower numbers. Not for subindices.
  std::int64_t elements_before(std::uint32_t array, std::uint64_t number) const noexcept;
  /// Returns the segments of the block with a number, per dimension. With a subindex, the parts of
  /// all segments are counted on from the lowest segment.
  std::array<std::int64_t, kMaxRank> segments(std::uint32_t array,
                                              std::uint64_t number) const noexcept;

 private:
  struct Dimension {
    std::uint32_t index = 0;  // as declared
    std::int64_t lower = 0;
    std::int64_t count = 0;  // of segments, or of subsegments of all parents
    std::int64_t subsegments = 1;
    std::uint64_t number_stride = 1;
    std::vector<std::int64_t> offsets;  // of each segment, from the lowest; one more at the end
    std::int64_t element_stride = 1;    // in the whole array
  };
  struct ArrayGeometry {
    std::vector<Dimension> dimensions;
    Shape whole;
    std::uint64_t blocks = 1;
  };

  // The parts of a selector's places that do not depend on the values of indices.
  struct SelectorGeometry {
    bool segments_only = true;  // there is no `*`, and subindices are cast
    std::array<std::uint32_t, kMaxRank> labels{};
    std::uint32_t simple = 0;
  };

  Geometry(const Program& program, const Layout& layout) : program_(&program), layout_(&layout) {}
  Status add_array(const Array& array);
  void add_selector(const Selector& selector);
  Status resolve_segments(std::uint32_t selector, const IndexValues& values,
                          BlockPlace& place) const;
  Dimension dimension_of(std::uint32_t index) const;
  Status resolve_dimension(const Dimension& dimension, const Selected& selected, unsigned d,
                           const IndexValues& values, BlockPlace& place) const;
  void resolve_open(const Dimension& dimension, std::int64_t segment, unsigned d,
                    BlockPlace& place) const;
  Status out_of_range(std::uint32_t array, std::int64_t value, const Dimension& dimension) const;

  const Program* program_;
  const Layout* layout_;
  std::vector<ArrayGeometry> arrays_;
  std::vector<SelectorGeometry> selectors_;
};

template <class Element>
void Geometry::inside(const BlockPlace& place, Element* data,
                      BasicView<Element>& view) const noexcept {
  view.rank = place.shape.rank;
  view.simple = place.simple;
  std::int64_t offset = 0;
  const ArrayGeometry& array = arrays_[place.array];
  for (unsigned d = 0; d < view.rank; ++d) {
    const Dimension& dimension = array.dimensions[d];
    view.labels[d] = place.labels[d];
    view.extents[d] = place.shape.extents[d];
    view.strides[d] = dimension.element_stride;
    offset += dimension.offsets[static_cast<std::size_t>(place.segments[d] - dimension.lower)] *
              dimension.element_stride;
  }
  view.data = data + offset;
}

template <class Element>
void Geometry::alone(const BlockPlace& place, Element* data, BasicView<Element>& view) noexcept {
  view.data = data;
  view.rank = place.shape.rank;
  view.simple = place.simple;
  std::int64_t stride = 1;
  for (unsigned d = 0; d < view.rank; ++d) {
    view.labels[d] = place.labels[d];
    view.extents[d] = place.shape.extents[d];
    view.strides[d] = stride;
    stride *= view.extents[d];
  }
}

template <class Element>
BasicView<Element> Geometry::part(const BlockPlace& place, BasicView<Element> view) noexcept {
  for (unsigned d = 0; d < view.rank; ++d) {
    view.data += place.part_offsets[d] * view.strides[d];
    view.extents[d] = place.part.extents[d];
  }
  return view;
}

}  // namespace ob::sial
