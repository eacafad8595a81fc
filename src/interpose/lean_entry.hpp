#pragma once
// The common part of the entries that leave their arguments in place (OB_LEAN_ENTRIES: x86-64,
// System V). Such an entry calls nothing. Its slow path and its search for the original are jumps
// to stubs. A stub puts the address of the entry's record into rax and jumps to one body for all
// entries. That body finds the arguments in registers and on the stack by their types.
// Source: System V Application Binary Interface, AMD64 supplement, section 3.2.3

#include <cstdint>

#include "interpose/entry.hpp"

namespace ob::interpose {

/// One entry, as codegen/lean.py emits it. Addresses are distances from the record itself, so that
/// thousands of records cost no relocation when a process starts.
struct LeanEntry {
  std::int32_t symbol;
  std::int32_t row;
  std::int32_t invoke;
  /// A string with a letter for the value, then one per argument: v nothing, p pointer, l 64 bits,
  /// i int, c char, f float, d double, C and Z complex. If the value is i, it is LAPACKE's info.
  std::int32_t types;
  std::int32_t operations;    ///< of aliases: double (const Raw*), the operation count
  std::int32_t fortran_name;  ///< of aliases: another name that a real BLAS or LAPACK has
  std::uint8_t precision;
  Abi abi;
  Integers integers;
  std::uint8_t unused;
};
static_assert(sizeof(LeanEntry) == 28);

inline constexpr int kIntegerRegisters = 6;
inline constexpr int kFloatingRegisters = 8;

/// The stack of the shared body, and above it the return address and arguments of the caller.
struct LeanFrame {
  Raw integers[kIntegerRegisters];
  Raw floating[kFloatingRegisters];
  double value[2];  ///< the value of a function, in registers rax, xmm0 and xmm1 at the end
  void* frame_pointer;
  const void* caller;
  Raw stack[1];  ///< arguments that are not in registers
};

/// Reads the arguments of these types. `arguments` has room for kMaxRaw of them.
void read_arguments(const char* types, const LeanFrame& frame, Raw* arguments) noexcept;

}  // namespace ob::interpose
