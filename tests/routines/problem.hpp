#pragma once
// One call of a routine of the table, with memory of its own, in column-major or row-major layout.

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/layout.hpp"
#include "routines/descriptor.hpp"

namespace ob::test {

/// The type of an operand's elements.
enum class Number : std::uint8_t {
  element,    ///< the routine's type
  real,       ///< real, in the routine's precision
  wide_real,  ///< double in any precision
  integer,    ///< 64 bits
  character,
};

/// Reads and writes elements of any precision as complex<double>.
std::complex<double> load(Precision p, const void* at);
void store(Precision p, void* at, std::complex<double> v);

inline bool is_complex(Precision p) { return p == Precision::c || p == Precision::z; }
/// Returns twice the unit roundoff.
inline double epsilon(Precision p) { return real_bytes(p) == 4 ? 0x1p-23 : 0x1p-52; }
/// Returns the precision of the real numbers of `p`.
inline Precision real_of(Precision p) { return real_bytes(p) == 4 ? Precision::s : Precision::d; }

/// Returns true if element (i, j) of an operand with this triangle is referenced.
bool referenced(Triangle t, std::uint64_t i, std::uint64_t j);

/// Fills memory with values that no routine may read: 0xFFF8DEAD in every four bytes, a NaN as
/// float and as double, and negative as an integer. The stand-in for a device fills its memory with
/// 0xFF instead, so that a test detects unwritten elements that a device sends back.
void poison(std::vector<unsigned char>& memory);

/// One call with memory of its own. Copies share nothing.
/// Arguments are in the normal form except for the layout: with row_major, element (i, j) of a
/// matrix lies at i * ld + j as for callers of CBLAS and LAPACKE, and flags are those of such a
/// call.
struct Problem {
  const Descriptor* routine = nullptr;
  bool row_major = false;
  Argument arguments[kMaxArguments];
  std::int64_t lds[kMaxArguments] = {};
  std::vector<std::vector<unsigned char>> memory;  // by argument
  Operands operands;

  Problem() = default;
  Problem(const Problem& other) { *this = other; }
  Problem& operator=(const Problem& other);

  /// Makes arguments point to this problem's memory.
  void point();

  /// Returns the position of a named argument; -1 if there is none.
  int position(std::string_view name) const;
  bool has(std::string_view name) const { return position(name) >= 0; }
  /// Returns 'N' if there is no such argument.
  char flag(std::string_view name) const;
  /// Returns 0 if there is no such argument.
  std::int64_t dim(std::string_view name) const;
  std::complex<double> scalar(std::string_view name) const;
  /// Aborts if there is none.
  const Operand& operand(std::string_view name) const;
  std::string_view name_of(const Operand& o) const { return routine->argument_names[o.argument]; }
  Kind kind_of(const Operand& o) const { return routine->kinds[o.argument]; }
  Number number_of(const Operand& o) const;
  /// Returns true for band matrices of the BLAS, which have kl + ku + 1 rows. A row-major one is
  /// the band of the transposed matrix in column-major memory (CBLAS; BLAS Technical Forum
  /// standard, B.2.10).
  bool is_band(const Operand& o) const;

  std::uint64_t ld(const Operand& o) const;
  /// Returns the number of elements from the first of the operand's memory to the last.
  std::uint64_t span(const Operand& o) const;
  unsigned char* at(const Operand& o, std::uint64_t i, std::uint64_t j);
  const unsigned char* at(const Operand& o, std::uint64_t i, std::uint64_t j) const {
    return const_cast<Problem*>(this)->at(o, i, j);
  }
  /// Returns element (i, j) of any type.
  std::complex<double> value(const Operand& o, std::uint64_t i, std::uint64_t j) const;
  void set(const Operand& o, std::uint64_t i, std::uint64_t j, std::complex<double> v);
  std::int64_t index(const Operand& o, std::uint64_t i) const;
  /// Returns 0 if the routine has no info.
  std::int64_t info() const;

  /// Returns the largest dimension.
  std::int64_t size() const;
  /// Describes the call for messages.
  std::string text() const;
};

}  // namespace ob::test

#include "routines/agreement.hpp"       // IWYU pragma: export
#include "routines/random_problem.hpp"  // IWYU pragma: export
