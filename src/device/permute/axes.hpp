#pragma once
// Loops over the elements of several strided arrays at once.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/contract.hpp"

namespace ob {

/// The largest number of dimensions of an array.
inline constexpr unsigned kMaxAxes = 8;

/// One axis of N operands. A stride is 0 in an operand that lacks the axis.
template <std::size_t N>
struct Axis {
  std::int64_t extent = 1;
  std::array<std::int64_t, N> strides{};
};

/// The common axes of N operands, the one with the smallest stride of operand 0 first.
template <std::size_t N>
struct Axes {
  unsigned rank = 0;
  std::array<Axis<N>, kMaxAxes> axis{};

  /// Adds an axis behind those with a smaller stride of operand 0. Leaves out an extent of 1.
  void insert(const Axis<N>& added) {
    if (added.extent == 1) return;
    OB_EXPECT(rank < kMaxAxes);
    unsigned at = rank++;
    for (; at > 0 && axis[at - 1].strides[0] > added.strides[0]; --at) axis[at] = axis[at - 1];
    axis[at] = added;
  }

  /// Joins neighbours that are one axis in every operand.
  void fuse() {
    unsigned kept = 0;
    for (unsigned i = 1; i < rank; ++i) {
      if (continues(axis[kept], axis[i])) {
        axis[kept].extent *= axis[i].extent;
      } else {
        axis[++kept] = axis[i];
      }
    }
    if (rank > 0) rank = kept + 1;
  }

  void remove(unsigned at) {
    for (--rank; at < rank; ++at) axis[at] = axis[at + 1];
  }

 private:
  static bool continues(const Axis<N>& inner, const Axis<N>& outer) {
    for (std::size_t operand = 0; operand < N; ++operand) {
      if (outer.strides[operand] != inner.strides[operand] * inner.extent) return false;
    }
    return true;
  }
};

/// Calls body(offsets) for each element of the product of the axes from `first` on, the first axis
/// fastest. `offsets` has the position in each operand.
template <std::size_t N, class Body>
void for_each(const Axes<N>& axes, unsigned first, Body&& body) {
  std::array<std::int64_t, N> offsets{};
  std::array<std::int64_t, kMaxAxes> at{};
  while (true) {
    body(offsets);
    unsigned d = first;
    for (; d < axes.rank; ++d) {
      const Axis<N>& axis = axes.axis[d];
      if (++at[d] < axis.extent) {
        for (std::size_t i = 0; i < N; ++i) offsets[i] += axis.strides[i];
        break;
      }
      for (std::size_t i = 0; i < N; ++i) offsets[i] -= axis.strides[i] * (axis.extent - 1);
      at[d] = 0;
    }
    if (d >= axes.rank) return;
  }
}

}  // namespace ob
