#include "sial/server/races.hpp"

namespace ob::sial {
namespace {

std::optional<AccessState> first_access(BlockAccess access) noexcept {
  switch (access) {
    case BlockAccess::get: return AccessState::read;
    case BlockAccess::put: return AccessState::written;
    case BlockAccess::accumulate: return AccessState::accumulated;
  }
  return std::nullopt;
}

// Returns the state after an access to a block that this worker alone has touched.
AccessState access_again(AccessState state, BlockAccess access) noexcept {
  if (state == AccessState::read && access == BlockAccess::get) return state;
  if (state == AccessState::accumulated && access == BlockAccess::accumulate) return state;
  return AccessState::mixed;
}

}  // namespace

std::optional<AccessState> after_access(AccessState state, BlockAccess access,
                                        bool same_worker) noexcept {
  switch (state) {
    case AccessState::untouched: return first_access(access);
    case AccessState::read_by_many:
      if (access == BlockAccess::get) return state;
      return std::nullopt;
    case AccessState::accumulated_by_many:
      if (access == BlockAccess::accumulate) return state;
      return std::nullopt;
    case AccessState::read:
      if (same_worker) return access_again(state, access);
      if (access == BlockAccess::get) return AccessState::read_by_many;
      return std::nullopt;
    case AccessState::accumulated:
      if (same_worker) return access_again(state, access);
      if (access == BlockAccess::accumulate) return AccessState::accumulated_by_many;
      return std::nullopt;
    case AccessState::written:
    case AccessState::mixed:
      if (same_worker) return access_again(state, access);
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ob::sial
