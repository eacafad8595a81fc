#pragma once

#include "base/ids.hpp"

namespace ob {

/// The client of a computation: a user, and one of the user's sessions.
struct Account {
  UserId user;
  SessionId session;

  friend auto operator<=>(const Account&, const Account&) = default;
};

}  // namespace ob
