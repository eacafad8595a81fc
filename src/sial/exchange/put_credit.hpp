#pragma once
// How much of what workers put may be on its way to a server at once.   docs/sial/runtime.md,
// "Puts under way"

#include <cstdint>

#include "sial/exchange/message.hpp"

namespace ob::sial {

/// The flow control of puts and accumulating puts. A worker sends them at once while those that a
/// server has not answered fit into its share. For a larger block it asks the server, which grants
/// one after another. So the blocks that have reached a server and wait for it are at most
/// workers x share + max(grants, one block), whatever the workers do.
struct PutCredit {
  std::uint64_t share = 0;   ///< bytes of unanswered blocks of one worker, without asking
  std::uint64_t grants = 0;  ///< bytes of all granted blocks together; one larger block is granted

  /// Returns the credit of a server.
  /// @param server_memory_bytes its limit; 0: none
  static PutCredit of(std::uint64_t server_memory_bytes, Rank workers) noexcept {
    // Enough for blocks of 16 MiB from four workers, two of each on their way. With a limit, the
    // credit is a small part of it.
    constexpr std::uint64_t kWithoutLimit = std::uint64_t{256} << 20;
    constexpr std::uint64_t kPartOfLimit = 32;
    const std::uint64_t all =
        server_memory_bytes == 0 ? kWithoutLimit : server_memory_bytes / kPartOfLimit;
    return {all / 2 / workers, all / 2};
  }
};

}  // namespace ob::sial
