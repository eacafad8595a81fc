#pragma once

#include <compare>
#include <cstdint>

#include "base/ids.hpp"
#include "base/use_counter.hpp"

namespace ob {

/// The lease of a pool under which a client computes, and its weight beside other leases.
struct LeaseWeight {
  /// The share of a whole device, per mille.
  static constexpr std::uint32_t kWhole = 1000;

  LeaseId lease;  ///< 0: none; all clients without a lease are as one lease
  std::uint32_t share = kWhole;
};

/// The client of a computation: a user, and one of the user's sessions, which name it. A session
/// has one lease, or none.
struct Account {
  UserId user;
  SessionId session;
  LeaseWeight weight{};
  /// Counts the session's computations; nullptr: nobody does. It outlives the session's queues.
  UseCounter* use = nullptr;

  friend bool operator==(const Account& a, const Account& b) noexcept {
    return a.user == b.user && a.session == b.session;
  }
  friend auto operator<=>(const Account& a, const Account& b) noexcept {
    const auto users = a.user <=> b.user;
    return users != 0 ? users : a.session <=> b.session;
  }
};

}  // namespace ob
