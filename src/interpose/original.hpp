#pragma once
// The function a caller would have got without us. One process may hold several libraries with the
// same names (every Python wheel brings its own), so the answer belongs to a symbol and the scope
// of its caller.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/integer_probe.hpp"

namespace ob::interpose {

/// Whether a function under an alias's name is the BLAS or LAPACK one.
enum class Alias : std::uint8_t { unasked = 0, yes, no };

/// The function that calls from one loaded object get. Never freed: readers take no lock.
struct Scope {
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
  void* function = nullptr;
  std::atomic<Integers> integers{Integers::unasked};
  std::atomic<Alias> alias{Alias::unasked};
  Scope* next = nullptr;
};

/// One exported name and what was found for it. Static; the name lies inside, so that hundreds of
/// them cost no relocation when a process starts.
/// Threads: any
struct Symbol {
  static constexpr std::size_t kNameBytes = 48;

  char name[kNameBytes] = {};
  std::atomic<void*> function{nullptr};  ///< found in the global scope, so good for every caller
  std::atomic<Integers> integers{Integers::unasked};
  std::atomic<Alias> alias{Alias::unasked};
  std::atomic<Scope*> scopes{nullptr};  ///< found in the scope of single callers
};

/// The long way of original().
/// Errors: if no loaded object has the function, prints a line that names it and aborts
void* find_original(Symbol& symbol, const void* caller) noexcept;

/// The original of `symbol` for a call that returns to `caller` if it is at hand, else nullptr.
/// Cost: one load for programs linked to their library
inline void* known_original(const Symbol& symbol, const void* caller) noexcept {
  if (void* function = symbol.function.load(std::memory_order_relaxed)) [[likely]]
    return function;
  const Scope* scope = symbol.scopes.load(std::memory_order_acquire);
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  const bool here = scope != nullptr && address - scope->begin < scope->bytes;
  return here ? scope->function : nullptr;
}

/// The original of `symbol` for a call that returns to `caller`; never ourselves, never null.
/// Cost: that of known_original once it is at hand
inline void* original(Symbol& symbol, const void* caller) noexcept {
  void* const function = known_original(symbol, caller);
  return function != nullptr ? function : find_original(symbol, caller);
}

/// Integers of the library that `function`, an original of `symbol`, belongs to; lp64, ilp64 or
/// unknown. The first question per library calls its ilaver_ or isamax_, whose results differ
/// between the two.
Integers integers_of(Symbol& symbol, const void* function) noexcept;

/// True if `function`, an original of the alias `symbol` ("dgemm", "DGEMM_"), lies in a library
/// that also has `fortran_name`. A function that merely shares the alias's name may take anything,
/// and passes through unread.
bool is_alias(Symbol& symbol, const void* function, const char* fortran_name) noexcept;

/// Returns the stored answer about the alias `symbol` for a call that returns to `caller`. Sets
/// `function` to its original unless the answer is `unasked`.
inline Alias known_alias(const Symbol& symbol, const void* caller, void*& function) noexcept {
  function = symbol.function.load(std::memory_order_relaxed);
  if (function != nullptr) [[likely]]
    return symbol.alias.load(std::memory_order_relaxed);
  const Scope* scope = symbol.scopes.load(std::memory_order_acquire);
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (scope == nullptr || address - scope->begin >= scope->bytes) return Alias::unasked;
  function = scope->function;
  return scope->alias.load(std::memory_order_relaxed);
}

}  // namespace ob::interpose
