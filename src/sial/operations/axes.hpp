#pragma once
// The common axes of views.

#include <array>
#include <cstdint>

#include "base/contract.hpp"
#include "device/permute/axes.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

static_assert(kMaxRank <= kMaxAxes);

/// The dimensions of a view whose extent is not 1. The others do not change an address.
struct LongDimensions {
  unsigned rank = 0;
  std::array<unsigned, kMaxRank> dimension{};
};

template <class Element>
LongDimensions long_dimensions(const BasicView<Element>& view) {
  LongDimensions found;
  for (unsigned d = 0; d < view.rank; ++d) {
    if (view.extents[d] != 1) found.dimension[found.rank++] = d;
  }
  return found;
}

/// Returns the dimension of `view` that has this label, or `none`.
template <class Element>
unsigned find_label(const BasicView<Element>& view, const LongDimensions& dimensions,
                    std::uint32_t label, unsigned none) {
  for (unsigned i = 0; i < dimensions.rank; ++i) {
    if (view.labels[dimensions.dimension[i]] == label) return dimensions.dimension[i];
  }
  return none;
}

/// True if the labels of both are equal, position by position, without the extents of 1.
template <class One, class Other>
bool equal_labels(const BasicView<One>& one, const BasicView<Other>& other) {
  const LongDimensions a = long_dimensions(one);
  const LongDimensions b = long_dimensions(other);
  if (a.rank != b.rank) return false;
  for (unsigned i = 0; i < a.rank; ++i) {
    if (one.labels[a.dimension[i]] != other.labels[b.dimension[i]]) return false;
  }
  return true;
}

/// Returns the stride in `view` of the dimension that goes with the `position`-th long dimension of
/// `leader`: by position if the labels are equal, else by label.
template <class Leader, class Element>
std::int64_t matching_stride(const BasicView<Leader>& leader, const LongDimensions& long_leader,
                             const BasicView<Element>& view, const LongDimensions& long_view,
                             bool equal, unsigned position) {
  const unsigned d = long_leader.dimension[position];
  const unsigned found = equal ? long_view.dimension[position]
                               : find_label(view, long_view, leader.labels[d], kMaxRank);
  OB_EXPECT(found < kMaxRank && view.extents[found] == leader.extents[d]);
  return view.strides[found];
}

/// True if the extents and strides of both are equal, dimension by dimension.
template <class One, class Other>
bool equal_layout(const BasicView<One>& one, const BasicView<Other>& other) noexcept {
  if (one.rank != other.rank) return false;
  for (unsigned d = 0; d < one.rank; ++d) {
    if (one.extents[d] != other.extents[d] || one.strides[d] != other.strides[d]) return false;
  }
  return true;
}

/// True if the elements lie without gaps, those of the first dimension first.
template <class Element>
bool is_dense(const BasicView<Element>& view) noexcept {
  std::int64_t stride = 1;
  for (unsigned d = 0; d < view.rank; ++d) {
    if (view.extents[d] != 1 && view.strides[d] != stride) return false;
    stride *= view.extents[d];
  }
  return true;
}

/// True if an element of one may be an element of the other: their address ranges meet.
template <class One, class Other>
bool may_overlap(const BasicView<One>& one, const BasicView<Other>& other) {
  const auto last = [](const auto& view) {
    const double* address = view.data;
    for (unsigned d = 0; d < view.rank; ++d) address += view.strides[d] * (view.extents[d] - 1);
    return address;
  };
  return one.data <= last(other) && other.data <= last(one);
}

/// Returns the view of a dense block at `data`, with the dimensions of `shape` in its order.
template <class Element, class Shape>
BasicView<Element> dense_like(const BasicView<Shape>& shape, Element* data) {
  BasicView<Element> view;
  view.data = data;
  view.rank = shape.rank;
  view.extents = shape.extents;
  view.labels = shape.labels;
  view.simple = shape.simple;
  std::int64_t stride = 1;
  for (unsigned d = 0; d < shape.rank; ++d) {
    view.strides[d] = stride;
    stride *= shape.extents[d];
  }
  return view;
}

inline ConstView read_only(const View& view) {
  return {view.data, view.rank, view.extents, view.strides, view.labels, view.simple};
}

}  // namespace ob::sial
