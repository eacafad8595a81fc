#pragma once
// Arrays in NumPy's files.   docs/sial/jobs.md

#include <filesystem>
#include <variant>

#include "base/status.hpp"
#include "sial/job/job.hpp"

namespace ob::sial {

using NpyArray = std::variant<DoubleArray, IntArray>;

/// Reads a file of version 1.0 or 2.0 with doubles or integers of 32 or 64 bits, little-endian, in
/// either order. The elements become column-major.
/// Memory:  the array, and a second copy of it if the file is in C order
/// Errors:  unavailable if the file cannot be read; invalid_argument if it is damaged; unsupported
///          for other types of elements
Result<NpyArray> read_npy(const std::filesystem::path& file);

/// Writes a file in Fortran order. An existing file is replaced.
/// Errors:  unavailable if it cannot be written
Status write_npy(const std::filesystem::path& file, const DoubleArray& array);
Status write_npy(const std::filesystem::path& file, const IntArray& array);

/// Brings elements from C order (the last index is the fastest) into column-major order.
template <class T>
std::vector<T> from_c_order(const std::vector<T>& elements, const std::vector<std::int64_t>& shape);

}  // namespace ob::sial
