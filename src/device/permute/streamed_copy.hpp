#pragma once
// Copies of blocks that are larger than the caches.

#include <array>
#include <cstdint>

#include "device/permute/axes.hpp"

namespace ob {

/// One copy, box by box: the elements of a box are gathered in a cache in the order of D, and then
/// written past the caches, while the next box is fetched.   Threads: any
class StreamedCopy {
 public:
  static constexpr std::int64_t kBoxElements = 8192;  ///< 64 KiB: a part of a second-level cache

  /// Axes are those of (D, B): the row and column of the inner loop, then the others.
  /// @pre the row has the stride 1 in D, and row or column have it in B
  StreamedCopy(const Axis<2>& row, const Axis<2>& column, const Axes<2>& outer, double alpha);

  /// d := alpha b
  /// @pre the operands do not overlap, or each element of D is the one of B
  void run(double* d, const double* b);

 private:
  // A part of the copy.
  struct Box {
    std::array<std::int64_t, kMaxAxes> extents{};
    double* d = nullptr;
    const double* b = nullptr;
  };

  struct Fetch;
  Axes<3> layout(const Box& box) const;
  void grow_boxes();
  void split(Box part);
  void copy(const Box& box, const Box& next);
  void gather(const Box& box, const Axes<3>& axes);

  Axes<2> axes_;                                               // row, column, others
  std::array<std::array<unsigned, kMaxAxes>, 2> by_stride_{};  // numbers of axes, in D and B
  std::array<std::int64_t, kMaxAxes> most_{};                  // extents of a box
  double alpha_;
  Box pending_;  // not copied yet; none if `d` is null
  alignas(64) double gathered_[kBoxElements];
};

}  // namespace ob
