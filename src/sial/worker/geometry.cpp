#include "sial/worker/geometry.hpp"

#include <algorithm>
#include <limits>

namespace ob::sial {
namespace {

// A label that no index has, for dimensions that `(index) i` selects.
constexpr std::uint32_t kSimpleLabel = 0x80000000;

}  // namespace

Result<Geometry> Geometry::create(const Program& program, const Layout& layout) {
  Geometry geometry(program, layout);
  geometry.arrays_.reserve(program.arrays.size());
  for (const Array& array : program.arrays) OB_RETURN_IF_ERROR(geometry.add_array(array));
  for (const Selector& selector : program.selectors) geometry.add_selector(selector);
  return geometry;
}

void Geometry::add_selector(const Selector& selector) {
  SelectorGeometry& made = selectors_.emplace_back();
  const Array& array = program_->arrays[selector.array];
  for (std::size_t d = 0; d < selector.dimensions.size(); ++d) {
    const Selected& selected = selector.dimensions[d];
    const Index& declared = program_->indices[array.indices[d]];
    const bool open = selected.index == kNone;
    const bool sub = !open && !selected.as_simple &&
                     program_->indices[selected.index].kind == IndexKind::subindex;
    if (open || sub || declared.kind == IndexKind::subindex) made.segments_only = false;
    made.labels[d] = selected.as_simple ? selected.index | kSimpleLabel : selected.index;
    if (declared.kind == IndexKind::simple) made.simple |= 1U << d;
  }
}

Geometry::Dimension Geometry::dimension_of(std::uint32_t index) const {
  Dimension dimension;
  dimension.index = index;
  const Index& record = program_->indices[index];
  const bool sub = record.kind == IndexKind::subindex;
  const Layout::IndexRange& range = layout_->range(sub ? record.parent : index);
  dimension.lower = range.lower;
  if (sub) dimension.subsegments = std::max<std::int64_t>(layout_->range(index).upper, 1);
  dimension.count = range.count() * dimension.subsegments;
  if (sub) return dimension;
  for (std::int64_t segment = range.lower; segment <= range.upper; ++segment) {
    dimension.offsets.push_back(layout_->offset_in_range(index, segment));
  }
  dimension.offsets.push_back(range.count() > 0 ? layout_->elements(index) : 0);
  return dimension;
}

Status Geometry::add_array(const Array& array) {
  ArrayGeometry made;
  made.whole.rank = static_cast<unsigned>(array.indices.size());
  std::int64_t stride = 1;
  for (unsigned d = 0; d < made.whole.rank; ++d) {
    Dimension dimension = dimension_of(array.indices[d]);
    dimension.element_stride = stride;
    const std::int64_t elements = dimension.offsets.empty() ? 0 : dimension.offsets.back();
    made.whole.extents[d] = elements;
    if (array.storage == Storage::static_ && elements > 0 &&
        stride > std::numeric_limits<std::int64_t>::max() / 8 / elements) {
      return {Code::invalid_argument, "R10: static " + array.name + " exceeds any memory"};
    }
    if (array.storage == Storage::static_) stride *= elements;
    made.dimensions.push_back(std::move(dimension));
  }
  for (unsigned d = made.whole.rank; d-- > 0;) {
    made.dimensions[d].number_stride = made.blocks;
    const auto count = static_cast<std::uint64_t>(made.dimensions[d].count);
    if (count != 0 && made.blocks > std::numeric_limits<std::int64_t>::max() / count) {
      return {Code::invalid_argument, "R05: " + array.name + " has too many blocks"};
    }
    made.blocks *= count;
  }
  arrays_.push_back(std::move(made));
  return {};
}

Status Geometry::out_of_range(std::uint32_t array, std::int64_t value,
                              const Dimension& dimension) const {
  const std::int64_t upper = dimension.lower + dimension.count / dimension.subsegments - 1;
  return {Code::invalid_argument, "R05 " + std::to_string(value) + " is outside of the range " +
                                      std::to_string(dimension.lower) + ":" +
                                      std::to_string(upper) + " that " +
                                      program_->arrays[array].name + " has in this dimension"};
}

Status Geometry::resolve_dimension(const Dimension& dimension, const Selected& selected, unsigned d,
                                   const IndexValues& values, BlockPlace& place) const {
  const Index& by = program_->indices[selected.index];
  const Index& declared = program_->indices[dimension.index];
  const std::int64_t value = values[selected.index];
  const bool sub = !selected.as_simple && by.kind == IndexKind::subindex;
  const std::int64_t segment = sub ? values[by.parent] : value;
  const std::int64_t segments = dimension.count / dimension.subsegments;
  if (segment < dimension.lower || segment >= dimension.lower + segments) {
    return out_of_range(place.array, segment, dimension);
  }
  const bool declared_sub = declared.kind == IndexKind::subindex;
  std::int64_t position = segment - dimension.lower;
  if (declared_sub) position = position * dimension.subsegments + value - 1;
  place.number += static_cast<std::uint64_t>(position) * dimension.number_stride;
  place.segments[d] = declared_sub ? value : segment;
  place.labels[d] = selected.as_simple ? selected.index | kSimpleLabel : selected.index;
  place.part_offsets[d] = 0;
  if (declared.kind == IndexKind::simple) {
    place.shape.extents[d] = 1;
    place.simple |= 1U << d;
  } else if (declared_sub) {
    place.shape.extents[d] = layout_->sub_extent(selected.index, segment, value);
  } else {
    place.shape.extents[d] = layout_->extent(dimension.index, segment);
  }
  place.part.extents[d] = place.shape.extents[d];
  if (sub && !declared_sub) {
    place.part.extents[d] = layout_->sub_extent(selected.index, segment, value);
    place.part_offsets[d] = layout_->sub_offset(selected.index, segment, value);
  }
  return {};
}

// Places dimension `d` at a segment that no index names.
void Geometry::resolve_open(const Dimension& dimension, std::int64_t segment, unsigned d,
                            BlockPlace& place) const {
  place.number += static_cast<std::uint64_t>(segment - dimension.lower) * dimension.number_stride;
  place.segments[d] = segment;
  place.labels[d] = dimension.index;
  place.part_offsets[d] = 0;
  place.shape.extents[d] = elements_between(place.array, d, segment, segment + 1);
  place.part.extents[d] = place.shape.extents[d];
}

Status Geometry::resolve(std::uint32_t selector, const IndexValues& values, BlockPlace& place,
                         const std::int64_t* segments) const {
  if (selectors_[selector].segments_only) return resolve_segments(selector, values, place);
  const Selector& selected = program_->selectors[selector];
  const ArrayGeometry& array = arrays_[selected.array];
  place.array = selected.array;
  place.number = 0;
  place.simple = 0;
  place.shape.rank = place.part.rank = array.whole.rank;
  for (unsigned d = 0; d < array.whole.rank; ++d) {
    if (selected.dimensions[d].index == kNone) {
      resolve_open(array.dimensions[d], segments[d], d, place);
      continue;
    }
    OB_RETURN_IF_ERROR(
        resolve_dimension(array.dimensions[d], selected.dimensions[d], d, values, place));
  }
  return {};
}

// The usual case of resolve(), which is on the way of every statement: each index names a segment.
Status Geometry::resolve_segments(std::uint32_t selector, const IndexValues& values,
                                  BlockPlace& place) const {
  const Selector& selected = program_->selectors[selector];
  const SelectorGeometry& known = selectors_[selector];
  const ArrayGeometry& array = arrays_[selected.array];
  place.array = selected.array;
  place.simple = known.simple;
  place.shape.rank = place.part.rank = array.whole.rank;
  std::uint64_t number = 0;
  for (unsigned d = 0; d < array.whole.rank; ++d) {
    const Dimension& dimension = array.dimensions[d];
    const std::int64_t segment = values[selected.dimensions[d].index];
    // One comparison finds what is below the range too: the difference is a large number then.
    const auto position =
        static_cast<std::uint64_t>(segment) - static_cast<std::uint64_t>(dimension.lower);
    if (position >= static_cast<std::uint64_t>(dimension.count)) {
      return out_of_range(place.array, segment, dimension);
    }
    number += position * dimension.number_stride;
    const std::int64_t* const offsets = dimension.offsets.data() + position;
    const std::int64_t extent = offsets[1] - offsets[0];
    place.segments[d] = segment;
    place.labels[d] = known.labels[d];
    place.part_offsets[d] = 0;
    place.shape.extents[d] = place.part.extents[d] = extent;
  }
  place.number = number;
  return {};
}

Result<Shape> Geometry::region(std::uint32_t array, const std::int64_t* bounds) const {
  const ArrayGeometry& geometry = arrays_[array];
  Shape shape;
  shape.rank = geometry.whole.rank;
  for (unsigned d = 0; d < shape.rank; ++d) {
    const std::int64_t from = bounds[2 * d];
    const std::int64_t to = bounds[2 * d + 1];
    if (from > to || from < lowest(array, d) || to > highest(array, d)) {
      return Status(Code::invalid_argument,
                    "R06 the region " + std::to_string(from) + ":" + std::to_string(to) +
                        " is not inside of the range " + std::to_string(lowest(array, d)) + ":" +
                        std::to_string(highest(array, d)) + " of " + program_->arrays[array].name);
    }
    shape.extents[d] = elements_between(array, d, from, to + 1);
  }
  return shape;
}

std::int64_t Geometry::elements_between(std::uint32_t array, unsigned d, std::int64_t from,
                                        std::int64_t segment) const noexcept {
  const Dimension& dimension = arrays_[array].dimensions[d];
  return dimension.offsets[static_cast<std::size_t>(segment - dimension.lower)] -
         dimension.offsets[static_cast<std::size_t>(from - dimension.lower)];
}

std::int64_t Geometry::lowest(std::uint32_t array, unsigned d) const noexcept {
  return arrays_[array].dimensions[d].lower;
}

std::int64_t Geometry::highest(std::uint32_t array, unsigned d) const noexcept {
  const Dimension& dimension = arrays_[array].dimensions[d];
  return dimension.lower + dimension.count / dimension.subsegments - 1;
}

bool Geometry::has_subsegments(std::uint32_t array, unsigned d) const noexcept {
  return program_->indices[arrays_[array].dimensions[d].index].kind == IndexKind::subindex;
}

std::int64_t Geometry::first_element(std::uint32_t array, unsigned d,
                                     std::int64_t segment) const noexcept {
  return layout_->first_element(arrays_[array].dimensions[d].index, segment);
}

std::int64_t Geometry::elements_before(std::uint32_t array, std::uint64_t number) const noexcept {
  const auto at = segments(array, number);
  const ArrayGeometry& geometry = arrays_[array];
  std::int64_t before = 0;
  std::int64_t chosen = 1;  // elements of the block in the dimensions so far
  std::int64_t behind = geometry.whole.elements();
  for (unsigned d = 0; d < geometry.whole.rank && behind != 0; ++d) {
    behind /= geometry.whole.extents[d];
    before += chosen * elements_between(array, d, lowest(array, d), at[d]) * behind;
    chosen *= elements_between(array, d, at[d], at[d] + 1);
  }
  return before;
}

std::array<std::int64_t, kMaxRank> Geometry::segments(std::uint32_t array,
                                                      std::uint64_t number) const noexcept {
  std::array<std::int64_t, kMaxRank> segments{};
  const ArrayGeometry& geometry = arrays_[array];
  for (unsigned d = 0; d < geometry.whole.rank; ++d) {
    const Dimension& dimension = geometry.dimensions[d];
    segments[d] = dimension.lower + static_cast<std::int64_t>(number / dimension.number_stride);
    number %= dimension.number_stride;
  }
  return segments;
}

}  // namespace ob::sial
