#pragma once
// The routine table in C++. codegen/ emits its rows from routines/*.toml into the build tree; see
// routines/SCHEMA.md.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.hpp"
#include "routines/argument.hpp"

namespace ob {

enum class Precision : std::uint8_t { s = 0, d = 1, c = 2, z = 3 };

/// Returns the bytes of one element: 4, 8, 8, 16.
constexpr std::uint32_t element_bytes(Precision p) noexcept {
  return p == Precision::s ? 4 : p == Precision::z ? 16 : 8;
}

/// Returns the bytes of a real number of that precision.
constexpr std::uint32_t real_bytes(Precision p) noexcept {
  return p == Precision::s || p == Precision::c ? 4 : 8;
}

/// The library that has a routine; `block`: none, because it is an operation of devices.
enum class Library : std::uint8_t { blas = 0, lapack = 1, block = 2 };

/// The shape and direction of one memory operand, for given flags and dimensions.
struct Operand {
  std::uint8_t argument = 0;  ///< position in the descriptor's kinds
  bool read = false;          ///< elements are needed before the call (C only if beta != 0)
  bool written = false;       ///< elements are results
  bool consumed = false;      ///< elements are read, and undefined after the call
  std::uint32_t element_bytes = 0;
  std::uint8_t word_bytes = 0;                 ///< as Region's: complex elements are two words
  Triangle triangle = Triangle::full;          ///< triangle of the elements that are read
  Triangle written_triangle = Triangle::full;  ///< triangle of the results
  std::uint64_t rows = 0;                      ///< strided operands: 1
  std::uint64_t cols = 0;                      ///< strided operands: the number of elements
};

/// Returns the memory of an operand.
/// @param ld as Argument's: leading dimension, increment, or 0. The sign of an increment tells
/// which element lies first; it does not change the place.
/// @param written selects the elements of the results instead of those that are read
Region region_of(const Operand& operand, Kind kind, std::int64_t ld, bool written = false) noexcept;
/// Returns the leading dimension or increment without gaps; keeps the sign of an increment.
std::int64_t dense_ld(const Operand& operand, Kind kind, std::int64_t ld) noexcept;

inline constexpr int kMaxOperands = 14;
struct Operands {
  int count = 0;
  Operand items[kMaxOperands];
  std::span<const Operand> span() const& noexcept {
    return {items, static_cast<std::size_t>(count)};
  }
  std::span<const Operand> span() const&& = delete;  // a temporary's span would dangle
};

/// One routine in one precision. Descriptors are static data; compare them by address or id.
struct Descriptor {
  /// FNV-1a of name; stable across versions of the table, unique (checked when emitted)
  std::uint32_t id;
  std::string_view name;  ///< lower case without underscore: "dgemm"
  std::string_view base;  ///< "gemm"
  Precision precision;
  Library library;
  std::uint8_t
      level;          ///< BLAS: 1 to 3; LAPACK: 3; block: 1. Data on the host: only level 3 is sent
  bool rerun;         ///< results of a device with a positive info are unusable
  double efficiency;  ///< typical rate, as a fraction of a large gemm's
  std::span<const Kind> kinds;
  std::span<const std::string_view> argument_names;
  /// Legal characters of flags, and conditions on elements: of index vectors that are read
  /// ("pivots", "signed", "any"), of other operands ("finite", or empty). Empty for other
  /// arguments.
  std::span<const std::string_view> values;

  /// True if the reference implementation accepts every argument (flags in their sets, dimensions
  /// >= 0, lda >= max(1, rows) ...). Otherwise the original library must get the call, so that its
  /// xerbla reports the error. Reads flags and dims. Leading dimensions and increments come in
  /// `lds`, because host.ld and device.ld may lie at different places of the union.
  bool (*legal)(const Argument* arguments, const std::int64_t* lds);
  /// True for a quick return or alpha = 0: such a call stays local in every mode.
  bool (*trivial)(const Argument* arguments);
  /// Returns the shapes of the memory operands.   @param arguments those of a legal call
  Operands (*operands)(const Argument* arguments);
  /// Returns the floating-point operations. A complex multiply-add counts as 4 multiplications and
  /// 4 additions where LAPACK's counts do so.
  double (*flops)(const Argument* arguments);
};

namespace routines {
/// Returns all rows of blas*.toml and lapack*.toml in all their precisions: the routines of
/// programs.
std::span<const Descriptor> all() noexcept;
/// Returns the rows of block.toml: operations that only devices have. find() knows them, too.
std::span<const Descriptor> device_operations() noexcept;
/// nullptr if unknown.
const Descriptor* find(std::uint32_t id) noexcept;
const Descriptor* find(std::string_view name) noexcept;
}  // namespace routines

}  // namespace ob
