#pragma once
// Builds programs in tests of the loader, statement by statement.

#include <initializer_list>
#include <string>
#include <vector>

#include "sial/code/program.hpp"

namespace ob::test {

using sial::Opcode;

/// Marks an index of a selector as cast to a simple one.
inline constexpr std::uint32_t kCast = 0x80000000;
/// `*` in a selector.
inline constexpr std::uint32_t kStar = 0xfffffffe;

/// Appends records to a program. Functions return the number of the new record.
class Assembler {
 public:
  sial::Program program;

  Assembler();

  std::uint32_t segmented(const std::string& name, const std::string& table);  // 1:norb
  std::uint32_t simple(const std::string& name);                               // 1:3
  std::uint32_t subindex(const std::string& name, std::uint32_t parent);
  std::uint32_t array(const std::string& name, sial::Storage storage,
                      std::vector<std::uint32_t> indices);
  std::uint32_t select(std::uint32_t array, std::initializer_list<std::uint32_t> indices);

  std::uint32_t here() const { return static_cast<std::uint32_t>(program.code.size()); }
  std::uint32_t emit(Opcode op, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0,
                     std::uint16_t x = 0);
  /// Opens a loop. Where clauses may follow until body().
  std::uint32_t begin(sial::LoopKind kind, std::vector<std::uint32_t> indices);
  void body();
  void end();
  void get(std::uint32_t selector);
  void section(std::uint32_t number) { emit(Opcode::section_begin, section_ = number); }
  void end_section() { emit(Opcode::section_end, section_), section_ = sial::kNone; }
  /// Begins a proc, after the `halt` or `return` of the one before.
  std::uint32_t proc(const std::string& name);
  void close_proc(Opcode end);

 private:
  std::vector<std::uint32_t> open_;
  std::uint32_t section_ = sial::kNone;
};

/// A program with records of all sorts, inside loops over all its indices:
///   do s / do m / do i / do j / do k / do ii in i   <statement>   enddo ..
struct Workbench : Assembler {
  Workbench();
  /// Closes the loops and the program.
  sial::Program finish();

  // ints, scalars, constants and strings
  static constexpr std::uint32_t norb = 0, n = 1;
  static constexpr std::uint32_t x = 0, threshold = 1;
  static constexpr std::uint32_t one = 0, zero = 0, label = 0;
  // indices
  std::uint32_t s, m, i, j, k, ii;
  // arrays: a[i,k] distributed, b[k,j] served, t[i,j] and u[i,k] and w[k,j] temp, l[i,j] local,
  // c[i,j] contiguous, st[i,j] and su[i,j] static, pre[s] static, part[ii,j] temp, v[i] and y[j]
  // temp, one_s[s] temp, q[i,m] temp
  std::uint32_t a, b, t, u, w, l, c, st, su, pre, part, v, y, one_s, q;
  // super-instructions
  static constexpr std::uint32_t f_rwu = 0, f_r = 1, f_w = 2;
  /// Pushes the bounds of a region of rank 2.
  void bounds();
};

}  // namespace ob::test
