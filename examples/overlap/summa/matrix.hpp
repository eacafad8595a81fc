#pragma once
// A rank's part of a matrix, and the elements of the operands.

#include <cstdint>
#include <vector>

namespace summa {

/// A block of a matrix in columns: element (i, j) is data[i + j ld].
struct Block {
  Block(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count),
        columns(column_count),
        ld(row_count > 0 ? row_count : 1),
        data(std::size_t(ld * column_count)) {}

  double& at(std::int64_t i, std::int64_t j) { return data[std::size_t(i + j * ld)]; }
  double at(std::int64_t i, std::int64_t j) const { return data[std::size_t(i + j * ld)]; }

  std::int64_t rows, columns, ld;
  std::vector<double> data;
};

/// The elements of a matrix, as a function of their place in the whole matrix, so that every rank
/// can compute each of them.
struct Elements {
  std::uint64_t seed;
  bool integers;  ///< in -4 to 4; otherwise real numbers in [-1, 1)

  double operator()(std::int64_t i, std::int64_t j) const;
};

/// Returns the elements of the rows `first_row`... and columns `first_column`... of a matrix.
Block block_of(const Elements& elements, std::int64_t first_row, std::int64_t rows,
               std::int64_t first_column, std::int64_t columns);

}  // namespace summa
