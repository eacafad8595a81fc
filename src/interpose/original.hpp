#pragma once
// Finds the function that a caller would reach without this library. One process may hold several
// libraries with the same names (every Python wheel brings its own), so the answer depends on the
// symbol and on the scope of its caller.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/integer_probe.hpp"

namespace ob::interpose {

/// The answer to whether a function with the name of an alias is the one of BLAS or LAPACK.
enum class Alias : std::uint8_t { unasked = 0, yes, no };

/// The function that calls from one loaded object reach. It is never freed, because readers take no
/// lock.
struct Scope {
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
  void* function = nullptr;
  std::atomic<Integers> integers{Integers::unasked};
  std::atomic<Alias> alias{Alias::unasked};
  Scope* next = nullptr;
};

/// One exported name and the functions that were found for it. Objects are static. The name lies
/// inside, so that hundreds of them cost no relocation when a process starts.
/// Threads: any
struct Symbol {
  static constexpr std::size_t kNameBytes = 48;

  char name[kNameBytes] = {};
  std::atomic<void*> function{nullptr};  ///< found in the global scope, so good for every caller
  std::atomic<Integers> integers{Integers::unasked};
  std::atomic<Alias> alias{Alias::unasked};
  std::atomic<Scope*> scopes{nullptr};  ///< found in the scope of single callers
};

/// Searches for the function if original() does not know it yet.
/// Errors: if no loaded object has the function, prints a line that names it and aborts
void* find_original(Symbol& symbol, const void* caller) noexcept;

/// The original of `symbol` for a call that returns to `caller` if it is known, else nullptr.
/// Cost: one load for programs linked to their library
inline void* known_original(const Symbol& symbol, const void* caller) noexcept {
  if (void* function = symbol.function.load(std::memory_order_relaxed)) [[likely]]
    return function;
  const Scope* scope = symbol.scopes.load(std::memory_order_acquire);
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  const bool here = scope != nullptr && address - scope->begin < scope->bytes;
  return here ? scope->function : nullptr;
}

/// The original of `symbol` for a call that returns to `caller`. It is never this library's own
/// function and never null.
/// Cost: that of known_original() once it is known
inline void* original(Symbol& symbol, const void* caller) noexcept {
  void* const function = known_original(symbol, caller);
  return function != nullptr ? function : find_original(symbol, caller);
}

/// The integers of the library to which `function`, an original of `symbol`, belongs: lp64, ilp64
/// or unknown. The first query per library calls its ilaver_ or isamax_, whose results differ
/// between the two sizes.
Integers integers_of(Symbol& symbol, const void* function) noexcept;

/// True if `function`, an original of the alias `symbol` ("dgemm", "DGEMM_"), lies in a library
/// that also has `fortran_name`. Another function with the alias's name may have any arguments, so
/// its calls pass through unread.
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
