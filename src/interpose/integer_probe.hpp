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

/// The function `name` of the object that holds `function`; nullptr if that object itself has none.
void* symbol_beside(const void* function, const char* name) noexcept;

/// lp64, ilp64, or unknown if the object of `function` (and what it depends on) has neither ilaver_
/// nor isamax_. ILP64 libraries under plain names exist (Debian's libblas64, MKL's ilp64
/// interface): calling one with 32-bit integers corrupts memory silently.
/// Source: the idea is libblastrampoline's
Integers probe_integers(const void* function) noexcept;

}  // namespace ob::interpose
