#pragma once
// The parts of the emitted BLAS and LAPACK entry points. An entry reads flags and dimensions. If
// the call is too small to be remote, the entry jumps to the original and changes nothing (the fast
// path, a few ns). Otherwise it passes its arguments to take_call(), which normalises them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "interpose/gate.hpp"
#include "interpose/original.hpp"
#include "routines/argument.hpp"
#include "routines/expression.hpp"

#define OB_ENTRY extern "C" [[gnu::visibility("default")]]
#define OB_ELSEWHERE extern "C" [[gnu::visibility("hidden")]]

namespace ob::interpose {

/// Call convention of an entry point.
enum class Abi : std::uint8_t {
  fortran,       ///< all by reference
  cblas,         ///< layout, enumerations and dimensions by value, complex scalars by reference
  lapacke,       ///< layout, characters and dimensions by value; refuses NaN; info is the result
  lapacke_work,  ///< the same without looking for NaN
};

/// One argument as the caller passed it. Integers passed by value are kept as their 64-bit
/// register.
union Raw {
  std::int64_t integer;
  void* pointer;
  float single_value;
  double double_value;

  Raw() noexcept : integer(0) {}
  Raw(std::int64_t v) noexcept : integer(v) {}  // NOLINT(google-explicit-constructor)
  Raw(int v) noexcept : integer(v) {}           // NOLINT(google-explicit-constructor)
  Raw(char v) noexcept : integer(v) {}          // NOLINT(google-explicit-constructor)
  Raw(void* v) noexcept : pointer(v) {}         // NOLINT(google-explicit-constructor)
  Raw(float v) noexcept : single_value(v) {}    // NOLINT(google-explicit-constructor)
  Raw(double v) noexcept : double_value(v) {}   // NOLINT(google-explicit-constructor)
};

/// Calls the original with the arguments of the caller and returns LAPACKE's info. The value of a
/// function goes to `value`, in the function's own type.
using Invoke = std::int64_t (*)(void* function, const Raw* arguments, void* value);

/// The arguments of an entry in Fortran's order. Each is a position in Descriptor::kinds or one of
/// these. A leading dimension or increment follows the argument that it belongs to.
namespace slot {
inline constexpr std::int8_t kWork = -1;    ///< workspace
inline constexpr std::int8_t kLength = -2;  ///< length of the workspace before it
inline constexpr std::int8_t kWorkResult =
    -3;                                       ///< workspace that LAPACKE's high-level form has, too
inline constexpr std::int8_t kCallback = -4;  ///< a function that is never called remotely
}  // namespace slot
inline constexpr int kMaxLengths = 4;
/// The most arguments of an entry: those of the normal form, each with a leading dimension or
/// increment, then workspace and layout.
inline constexpr int kMaxRaw = 2 * kMaxArguments + 3 * kMaxLengths + 1;

/// The meaning of a routine's arguments, and the way from its row-major form to the column-major
/// one (routines/SCHEMA.md). A mask has one bit for each position in Descriptor::kinds.
struct EntryRow {
  std::uint16_t descriptor;  ///< position in routines::all() of the first precision
  std::span<const std::int8_t> slots;
  /// True if the workspace is as long as documented, so it is neither too short nor a query.
  /// nullptr if the routine has no length arguments.
  bool (*lengths_suffice)(const Argument* arguments, const std::int64_t* lengths);
  bool has_layout;       ///< C forms begin with it (not level 1)
  bool row_major_stays;  ///< row-major calls are the original's
  bool is_index;         ///< the function's value is an index, from 1 in Fortran and from 0 in C
  /// Per argument 't'rans, 'h' (trans of a Hermitian routine: N or C), 'u'plo, 'd'iag, 's'ide or
  /// 'j'ob, 0 for others.
  std::array<char, kMaxArguments> flags;
  std::array<std::array<std::uint8_t, 2>, 4> swaps;
  std::uint8_t swap_count;
  std::uint32_t flip_mask;
  std::uint32_t transpose_mask;
};

/// The slow path of an entry.
struct Entry {
  Symbol& symbol;
  const EntryRow& row;
  std::uint16_t precision;  ///< position among the routine's precisions
  Abi abi;
  Integers integers;  ///< those of the name's family; unasked: the library is asked
  Invoke invoke;
};

/// Takes one call to the accelerator or the original, and returns LAPACKE's info.
/// Memory: `arguments` are those that the entry got, and are not kept; `value` takes the value of a
/// function, in its own type (integers: 64 bits)
/// Threads: any
/// Errors: exceptions of the program's own xerbla pass through; nothing here throws
std::int64_t take_call(const Entry& entry, const Raw* arguments, const void* caller,
                       void* value = nullptr);

/// Reads a Fortran dimension.
template <class Int>
double dim(const void* argument) noexcept {
  return static_cast<double>(*static_cast<const Int*>(argument));
}
/// Reads a dimension passed by value in a 64-bit register. LP64 callers set only the lower half.
template <class Int>
double dim(std::int64_t argument) noexcept {
  return static_cast<double>(static_cast<Int>(argument));
}

constexpr char upper(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Emitted length checks use this function.
using expression::log2;

inline char flag(const void* argument) noexcept {
  return upper(*static_cast<const char*>(argument));
}
inline char flag(char argument) noexcept { return upper(argument); }

/// Converts CBLAS's number for a flag to Fortran's character. 0 for numbers of other enumerations.
/// @param of as in EntryRow::flags   Source: cblas.h of the reference BLAS
constexpr char cblas_flag(std::int64_t value, char of) noexcept {
  switch (of) {
    case 't':
    case 'h': return value == 111 ? 'N' : value == 112 ? 'T' : value == 113 ? 'C' : '\0';
    case 'u': return value == 121 ? 'U' : value == 122 ? 'L' : '\0';
    case 'd': return value == 131 ? 'N' : value == 132 ? 'U' : '\0';
    case 's': return value == 141 ? 'L' : value == 142 ? 'R' : '\0';
    default: return '\0';
  }
}

}  // namespace ob::interpose
