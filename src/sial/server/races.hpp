#pragma once
// Which accesses to a block between two barriers conflict.

#include <cstdint>
#include <optional>

namespace ob::sial {

/// FILL and SCALE on a server count as put, ADD as accumulate.
enum class BlockAccess : std::uint8_t { get, put, accumulate };

/// The accesses to a block in this epoch.
enum class AccessState : std::uint8_t {
  untouched,
  read,  ///< by one worker
  read_by_many,
  written,      ///< by one worker
  accumulated,  ///< by one worker
  accumulated_by_many,
  mixed,  ///< several kinds of access by one worker
};

/// Returns the state after an access; nothing if the access is a race.
/// @param same_worker the access is by the worker that touched the block first
std::optional<AccessState> after_access(AccessState state, BlockAccess access,
                                        bool same_worker) noexcept;

}  // namespace ob::sial
