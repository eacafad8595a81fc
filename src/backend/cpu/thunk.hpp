#pragma once
// Emitted calls from the normal form to the Fortran symbols of the daemon's own BLAS and LAPACK
// (LP64).

#include <cstdint>
#include <span>

#include "routines/argument.hpp"

namespace ob::cpu {

/// Calls `function` (a Fortran LP64 routine) with `arguments`, whose memory operands are
/// Argument::host, and with workspace of the size that it asks for. Integers in memory have 64 bits
/// and are converted to and from the library's 32-bit ones. Dimensions, leading dimensions and
/// increments must fit 32 bits, which the caller checks. Returns false without a call if there is
/// no memory for the workspace.
using Thunk = bool (*)(void* function, const Argument* arguments);

struct ThunkEntry {
  std::uint32_t id;    ///< Descriptor::id
  const char* symbol;  ///< "dgemm_"
  Thunk thunk;
};

/// One entry per row and precision, in the order of routines::all(). Emitted by
/// codegen/emit_cpu_thunks.py.
std::span<const ThunkEntry> thunks() noexcept;

}  // namespace ob::cpu
