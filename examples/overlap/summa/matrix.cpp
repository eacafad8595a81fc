#include "matrix.hpp"

namespace summa {

double Elements::operator()(std::int64_t i, std::int64_t j) const {
  // The steps of splitmix64 (Steele, Lea, Flood 2014).
  std::uint64_t x =
      seed + std::uint64_t(i) * 0x9e3779b97f4a7c15u + std::uint64_t(j) * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  if (integers) return double(x % 9) - 4;
  return double(x >> 11) * 0x1p-52 - 1;
}

Block block_of(const Elements& elements, std::int64_t first_row, std::int64_t rows,
               std::int64_t first_column, std::int64_t columns) {
  Block block(rows, columns);
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      block.at(i, j) = elements(first_row + i, first_column + j);
  return block;
}

}  // namespace summa
