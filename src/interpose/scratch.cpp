#include "interpose/scratch.hpp"

#include <algorithm>
#include <cstring>

namespace ob::interpose {
namespace {

// Two tiles of 32 x 32 elements of 16 bytes fill a 32 KiB first-level cache.
constexpr std::uint64_t kTile = 32;

struct Rows {
  std::uint64_t begin;
  std::uint64_t end;
};

// The referenced rows of column j.
Rows rows_of(Triangle triangle, std::uint64_t m, std::uint64_t j) noexcept {
  switch (triangle) {
    case Triangle::upper: return {0, std::min(m, j + 1)};
    case Triangle::lower: return {std::min(m, j), m};
    case Triangle::upper_strict: return {0, std::min(m, j)};
    case Triangle::lower_strict: return {std::min(m, j + 1), m};
    case Triangle::full: break;
  }
  return {0, m};
}

// Element (i, j) is at data + (i * row + j * col) elements.
template <class Byte>
struct Elements {
  Byte* data;
  std::int64_t row;
  std::int64_t col;

  Byte* at(std::int64_t i, std::int64_t j, std::int64_t bytes) const noexcept {
    return data + (i * row + j * col) * bytes;
  }
};

Elements<char> column_major(void* data, std::int64_t ld) {
  return {static_cast<char*>(data), 1, ld};
}
Elements<const char> column_major(const void* data, std::int64_t ld) {
  return {static_cast<const char*>(data), 1, ld};
}
Elements<char> row_major(void* data, std::int64_t ld) { return {static_cast<char*>(data), ld, 1}; }
Elements<const char> row_major(const void* data, std::int64_t ld) {
  return {static_cast<const char*>(data), ld, 1};
}

// Copies the elements of a triangle, tile by tile.
template <std::size_t kBytes>
void copy_elements(const Operand& operand, Triangle triangle, const Elements<char>& to,
                   const Elements<const char>& from) noexcept {
  constexpr auto bytes = static_cast<std::int64_t>(kBytes);
  for (std::uint64_t i0 = 0; i0 < operand.rows; i0 += kTile) {
    for (std::uint64_t j = 0; j < operand.cols; ++j) {
      const Rows rows = rows_of(triangle, operand.rows, j);
      const std::uint64_t end = std::min(rows.end, i0 + kTile);
      const auto column = static_cast<std::int64_t>(j);
      for (std::uint64_t i = std::max(rows.begin, i0); i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        std::memcpy(to.at(row, column, bytes), from.at(row, column, bytes), kBytes);
      }
    }
  }
}

void copy_elements(const Operand& operand, Triangle triangle, const Elements<char>& to,
                   const Elements<const char>& from) noexcept {
  switch (operand.element_bytes) {
    case 4: return copy_elements<4>(operand, triangle, to, from);
    case 8: return copy_elements<8>(operand, triangle, to, from);
    default: return copy_elements<16>(operand, triangle, to, from);
  }
}

template <class Real>
bool has_nan(const Operand& operand, const Real* data, std::int64_t ld,
             std::uint64_t parts) noexcept {
  for (std::uint64_t j = 0; j < operand.cols; ++j) {
    const Rows rows = rows_of(operand.triangle, operand.rows, j);
    const Real* column = data + j * static_cast<std::uint64_t>(ld) * parts;
    bool found = false;  // without an early exit the loop runs at the speed of memory
    for (std::uint64_t i = rows.begin * parts; i < rows.end * parts; ++i)
      found |= column[i] != column[i];
    if (found) return true;
  }
  return false;
}

}  // namespace

bool Scratch::allocate(std::uint64_t count, std::uint64_t element_bytes) noexcept {
  std::uint64_t bytes = 0;
  release();
  if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes > PTRDIFF_MAX) return false;
  data_ = std::malloc(bytes != 0 ? bytes : 1);
  return data_ != nullptr;
}

void copy_to_column_major(const Operand& operand, void* destination, std::int64_t ld,
                          const void* source, std::int64_t row_major_ld) noexcept {
  copy_elements(operand, operand.triangle, column_major(destination, ld),
                row_major(source, row_major_ld));
}

void copy_to_row_major(const Operand& operand, void* destination, std::int64_t row_major_ld,
                       const void* source, std::int64_t ld) noexcept {
  copy_elements(operand, operand.written_triangle, row_major(destination, row_major_ld),
                column_major(source, ld));
}

bool has_nan(const Operand& operand, Precision precision, const void* data,
             std::int64_t ld) noexcept {
  const std::uint64_t parts = operand.element_bytes / real_bytes(precision);
  if (real_bytes(precision) == sizeof(float))
    return has_nan(operand, static_cast<const float*>(data), ld, parts);
  return has_nan(operand, static_cast<const double*>(data), ld, parts);
}

void widen(std::int64_t* destination, const std::int32_t* source, std::uint64_t count) noexcept {
  std::copy_n(source, count, destination);
}

void narrow(std::int32_t* destination, const std::int64_t* source, std::uint64_t count) noexcept {
  std::transform(source, source + count, destination,
                 [](std::int64_t v) { return static_cast<std::int32_t>(v); });
}

}  // namespace ob::interpose
