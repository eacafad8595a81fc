#pragma once
// What the one table says of a routine, in the form the C++ side uses. Emitted into the build tree
// from routines/*.toml by codegen/; see routines/SCHEMA.md.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.hpp"
#include "routines/argument.hpp"

namespace ob {

enum class Precision : std::uint8_t { s = 0, d = 1, c = 2, z = 3 };

/// Bytes of one element: 4, 8, 8, 16.
constexpr std::uint32_t element_bytes(Precision p) noexcept {
  return p == Precision::s ? 4 : p == Precision::z ? 16 : 8;
}

/// Bytes of a real number of that precision.
constexpr std::uint32_t real_bytes(Precision p) noexcept {
  return p == Precision::s || p == Precision::c ? 4 : 8;
}

enum class Library : std::uint8_t { blas = 0, lapack = 1 };

/// Shape and direction of one memory operand for given flags and dimensions.
struct Operand {
  std::uint8_t argument = 0;  ///< position in the descriptor's kinds
  bool read = false;          ///< elements are needed before the call (C only if beta != 0)
  bool written = false;       ///< elements are results
  bool consumed = false;      ///< what was read is undefined after the call, and no result
  std::uint32_t element_bytes = 0;
  std::uint8_t word_bytes = 0;                 ///< as Region's: complex elements are two words
  Triangle triangle = Triangle::full;          ///< of what is read
  Triangle written_triangle = Triangle::full;  ///< of the results
  std::uint64_t rows = 0;                      ///< strided operands: 1
  std::uint64_t cols = 0;                      ///< strided operands: the number of elements
};

/// The memory of an operand.
/// @param ld as Argument's: leading dimension, increment (its sign says which element lies first,
/// not where), or 0
/// @param written the elements of the results rather than of what is read
Region region_of(const Operand& operand, Kind kind, std::int64_t ld, bool written = false) noexcept;
/// The leading dimension or increment that leaves no gaps; keeps the sign of an increment.
std::int64_t dense_ld(const Operand& operand, Kind kind, std::int64_t ld) noexcept;

inline constexpr int kMaxOperands = 14;
struct Operands {
  int count = 0;
  Operand items[kMaxOperands];
  std::span<const Operand> span() const& noexcept {
    return {items, static_cast<std::size_t>(count)};
  }
  std::span<const Operand> span() const&& = delete;  // of a temporary: it would dangle
};

/// One routine in one precision. Static data; compare by address or id.
struct Descriptor {
  /// FNV-1a of name; stable across versions of the table, unique (checked when emitted)
  std::uint32_t id;
  std::string_view name;  ///< lower case without underscore: "dgemm"
  std::string_view base;  ///< "gemm"
  Precision precision;
  Library library;
  std::uint8_t level;  ///< BLAS: 1 to 3; LAPACK: 3. Below 3 no host data are worth sending
  bool rerun;          ///< after a positive info the device's results are not to be used
  double efficiency;   ///< of a large gemm's rate, about
  std::span<const Kind> kinds;
  std::span<const std::string_view> argument_names;
  /// Legal characters of flags, allowed ranges of index vectors ("pivots", "signed", "any"); empty
  /// for others.
  std::span<const std::string_view> values;

  /// True if every argument is one the reference implementation accepts (flags in their sets,
  /// dimensions >= 0, lda >= max(1, rows) ...). Otherwise the original library must get the call,
  /// and its xerbla the error. Reads flags and dims, and host.ld / device.ld (same place in the
  /// union is not assumed: ld passed in lds, and increments of strided operands).
  bool (*legal)(const Argument* arguments, const std::int64_t* lds);
  /// True if there is nothing worth sending: a quick return or alpha = 0. Stays local in every
  /// mode.
  bool (*trivial)(const Argument* arguments);
  /// Shapes of the memory operands. @pre legal(arguments, lds)
  Operands (*operands)(const Argument* arguments);
  /// Floating-point operations (complex ones counted as 4 multiplications + 4 additions where the
  /// field does).
  double (*flops)(const Argument* arguments);
};

namespace routines {
/// All rows of blas.toml and lapack.toml in all their precisions.
std::span<const Descriptor> all() noexcept;
/// nullptr if unknown.
const Descriptor* find(std::uint32_t id) noexcept;
const Descriptor* find(std::string_view name) noexcept;
}  // namespace routines

}  // namespace ob
