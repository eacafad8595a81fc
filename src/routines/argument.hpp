#pragma once
// A library call in the one normal form that entry points produce, the wire carries and backends
// consume: column-major, flags upper case, dimensions 64-bit, scalars as double pairs (float to
// double is exact).

#include <cstdint>

#include "base/ids.hpp"

namespace ob {

/// Role of an argument; the row in routines/*.toml says which.
enum class Kind : std::uint8_t {
  flag,          ///< CHARACTER*1, upper case
  dim,           ///< integer input
  scalar,        ///< element type of the routine
  real_scalar,   ///< real even in complex routines (alpha of herk)
  matrix,        ///< column-major, with leading dimension
  index_vector,  ///< integers (ipiv): always 64-bit on the wire and on devices
  info,          ///< one 64-bit integer output
};

inline constexpr int kMaxArguments = 24;

struct HostOperand {
  void* data;       ///< first element; nullptr allowed when nothing is referenced
  std::int64_t ld;  ///< elements; 0 for vectors
};

struct DeviceOperand {
  BufferId buffer;
  std::uint64_t offset_bytes;
  std::int64_t ld;  ///< elements; 0 for vectors
};

struct Complex {
  double re;
  double im;
};

/// One argument; which member holds is said by the Kind at the same position of the descriptor.
union Argument {
  char flag;
  std::int64_t dim;
  Complex scalar;
  HostOperand host;      ///< matrix, index_vector, info in host memory
  DeviceOperand device;  ///< the same on a device

  Argument() : scalar{0, 0} {}
};

}  // namespace ob
