#pragma once
// Asks a loaded library for the size of its integers.

#include <cstdint>

namespace ob::interpose {

/// Integers of a library's Fortran interface.
enum class Integers : std::uint8_t {
  unasked = 0,
  lp64,
  ilp64,
  unknown,  ///< asked, but it has nothing to tell by: its calls must pass through untouched
};

/// Keeps the loaded object `file` in the process for good.
void pin_object(const char* file) noexcept;

/// Finds the function `name` in the object that holds `function`; nullptr if the object itself has
/// none.
void* symbol_beside(const void* function, const char* name) noexcept;

/// Finds the size of the integers: lp64, ilp64, or unknown if neither the object of `function` nor
/// the objects that it depends on have ilaver_ or isamax_. ILP64 libraries under plain names exist
/// (Debian's libblas64, MKL's ilp64 interface). A call of one with 32-bit integers corrupts memory
/// silently.
/// Source: the idea is libblastrampoline's
Integers probe_integers(const void* function) noexcept;

}  // namespace ob::interpose
