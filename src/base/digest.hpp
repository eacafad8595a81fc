#pragma once
// Digests of memory, which tell whether its contents have changed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/layout.hpp"

namespace ob {

/// 128 bits of XXH3. Two different contents have equal digests with a probability of about 2^-128.
/// XXH3 is not cryptographic: an attacker can construct such contents.
/// Source: xxHash, XXH3 128-bit variant, seed 0 (the same value on every processor)
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// Computes the digest of a byte sequence that arrives in pieces of any size.
/// Threads: one at a time
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;

  void update(std::span<const std::byte> bytes) noexcept;
  Digest digest() const noexcept;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

/// Returns the digest of the parts' elements, one after another in packed order.
/// @param base the address that the parts' offsets count from
Digest digest_of(const void* base, std::span<const Region> parts) noexcept;

}  // namespace ob
