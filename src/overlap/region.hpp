#pragma once
// Cells of an array in memory, and their copies into and out of messages.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "overlap/box.hpp"

namespace ob::overlap {

/// An array in the program's memory. Strides are in bytes.
struct FieldView {
  std::byte* data = nullptr;
  std::int64_t element_bytes = 0;
  int dims = 0;
  Index extents{1, 1, 1, 1};
  Index strides{};
};

/// A box of a field, as nested loops over contiguous runs, the largest stride outermost. With a
/// mask it has some cells of the box, as a list of runs.
class Region {
 public:
  /// @param mask null, or a field of bytes with the same extents: the region has the cells of which
  /// the byte is not 0. It is read here only.
  Region(const FieldView& field, const Box& box, const FieldView* mask = nullptr);

  std::size_t bytes() const noexcept { return bytes_; }
  std::int64_t element_bytes() const noexcept { return element_bytes_; }
  /// Returns true if the cells are adjacent in memory.
  bool contiguous() const noexcept { return loops_ == 0 && runs_.empty(); }
  std::byte* first() const noexcept { return first_; }
  /// Returns a number that is equal for regions whose packed bytes have the same meaning: element
  /// size, extents, order of the dimensions, and mask.
  std::uint64_t signature() const noexcept { return signature_; }

  /// Copies the cells to `out`, which has bytes().
  void pack(std::byte* out) const noexcept;
  /// Copies bytes() from `in` to the cells.
  void unpack(const std::byte* in) const noexcept;

 private:
  /// Contiguous runs of equal length and distance.
  struct Runs {
    std::byte* first;
    std::size_t bytes;
    std::int64_t count;
    std::int64_t step;
  };
  using Dimensions = std::span<const int>;

  void select(const FieldView& field, const Box& box, const FieldView& mask, Dimensions order);
  void add_cell(std::byte* cell);
  void join_runs();
  template <class Copy>
  void for_each_run(Copy&& copy) const noexcept;

  std::byte* first_;
  std::int64_t element_bytes_;
  std::size_t bytes_;
  std::size_t run_bytes_;
  std::uint64_t signature_;
  int loops_ = 0;
  Index counts_{1, 1, 1, 1};
  Index steps_{};
  std::vector<Runs> runs_;  ///< with a mask, unless its cells are adjacent; the loops are unused
};

}  // namespace ob::overlap
