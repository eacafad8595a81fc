#pragma once
// Newer routines in terms of older ones, for libraries that lack them.

#include <cstdint>
#include <functional>
#include <optional>

#include "backend/cpu/thunk.hpp"
#include "routines/descriptor.hpp"

namespace ob::cpu {

/// A routine of a library, and the way to call it.
struct LibraryRoutine {
  Thunk thunk = nullptr;
  void* function = nullptr;  ///< nullptr: an operation of our own (device_operations.hpp)
};

/// Finds a substitute for `routine` among the symbols that `symbol` finds: gemmt and gemmtr for
/// each other (one routine with two names) or block by block by gemm, and gemm3m by gemm. Returns
/// nullopt if there is none.
std::optional<LibraryRoutine> substitute(const Descriptor& routine,
                                         const std::function<void*(const char*)>& symbol);

}  // namespace ob::cpu
