#pragma once
// What a client must show to share something with another of its connections.

#include "base/status.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// 128 random bits, not zero.   Errors: internal if the system has none
Result<wire::Token> new_token();

/// Takes the same time wherever the two differ.
bool same(const wire::Token& a, const wire::Token& b) noexcept;

}  // namespace ob::daemon
