#pragma once
// Secrets that name a session, a stripe group or a mailbox. Whoever has one may use the object.

#include "base/status.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Returns 128 random bits that are not all zero.   Errors: internal if the system has none
Result<wire::Token> new_token();

/// Compares two tokens. The time does not depend on where they differ.
bool same(const wire::Token& a, const wire::Token& b) noexcept;

}  // namespace ob::daemon
