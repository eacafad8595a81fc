#pragma once
// The arguments of a library call in normal form: column-major, flags in upper case, 64-bit
// dimensions, scalars as pairs of double (float to double is exact). Entry points produce this
// form, the wire carries it and backends consume it.

#include <cstdint>

#include "base/ids.hpp"

namespace ob {

/// The role of an argument, as the row in routines/*.toml names it.
enum class Kind : std::uint8_t {
  flag,          ///< CHARACTER*1, upper case
  dim,           ///< integer input
  scalar,        ///< element type of the routine
  real_scalar,   ///< real even in complex routines (alpha of herk)
  matrix,        ///< column-major, with leading dimension
  index_vector,  ///< integers (ipiv): always 64-bit on the wire and on devices
  info,          ///< one 64-bit integer output
  vector,   ///< contiguous elements, or real numbers of their precision (tau, w; packed matrices)
  strided,  ///< x of the BLAS; its increment is not 0, and the last element lies first if negative
  character,  ///< one character that the routine sets (equed)
  result,     ///< the value of a function (dot); integers have 64 bits
};

/// True for operands: arguments that lie in memory.
constexpr bool is_memory(Kind kind) noexcept { return kind >= Kind::matrix; }
/// True for operands with a leading dimension or an increment.
constexpr bool has_ld(Kind kind) noexcept { return kind == Kind::matrix || kind == Kind::strided; }

inline constexpr int kMaxArguments = 24;

struct HostOperand {
  void* data;       ///< first element; nullptr allowed when nothing is referenced
  std::int64_t ld;  ///< elements; the increment of strided ones; 0 for others
};

struct DeviceOperand {
  BufferId buffer;
  std::uint64_t offset_bytes;
  std::int64_t ld;  ///< as HostOperand's
};

struct Complex {
  double re;
  double im;
};

/// One argument. The Kind at the same position of the descriptor names the active member.
union Argument {
  char flag;
  std::int64_t dim;
  Complex scalar;
  HostOperand host;      ///< an operand in host memory
  DeviceOperand device;  ///< an operand on a device

  Argument() : scalar{0, 0} {}
};

/// The arguments of one call, by position in Descriptor::kinds.
struct CallArguments {
  Argument items[kMaxArguments];
};

}  // namespace ob
