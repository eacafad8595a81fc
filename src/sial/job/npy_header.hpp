#pragma once
// The header of a NumPy file.   Source: NumPy, "NEP 1 - A simple file format for NumPy arrays"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace ob::sial {

enum class NpyType : std::uint8_t { float64, int32, int64 };

struct NpyHeader {
  NpyType type = NpyType::float64;
  bool fortran_order = false;  ///< the first index is the fastest
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;  ///< of the first element in the file
  std::int64_t count = 1;       ///< of elements
};

/// Bytes of a file that contain the length of its header.
inline constexpr std::size_t kNpyPreambleBytes = 12;

/// Returns how many bytes the header takes, with everything before it.
/// Errors:  invalid_argument if the bytes begin no file of version 1.0 or 2.0
Result<std::size_t> npy_header_bytes(std::span<const std::byte> preamble);

/// Reads a header of so many bytes.
/// Errors:  invalid_argument if it is none; unsupported for other types than little-endian doubles
///          and integers of 32 and 64 bits
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes);

/// Returns the header, and all that stands before it, of version 1.0 (2.0 if the shape is long).
std::string npy_header(NpyType type, const std::vector<std::int64_t>& shape);

}  // namespace ob::sial
