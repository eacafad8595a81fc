#pragma once
// Newer routines in terms of older ones, for libraries that lack them.

#include <cstdint>
#include <functional>
#include <optional>

#include "backend/cpu/thunk.hpp"
#include "routines/descriptor.hpp"

namespace ob::cpu {

/// A routine of a library, and how it is called.
struct LibraryRoutine {
  Thunk thunk = nullptr;
  void* function = nullptr;
};

/// Another way to carry out `routine` with what `symbol` finds: gemmt and gemmtr for each other
/// (one routine with two names) or block by block through gemm, gemm3m through gemm. nullopt if
/// there is none.
std::optional<LibraryRoutine> substitute(const Descriptor& routine,
                                         const std::function<void*(const char*)>& symbol);

}  // namespace ob::cpu
