#pragma once
// A lease token makes these claims about one device of a lease (docs/pool.md, "Tokens").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace ob::pool {

/// The claims of a token. Numbers are at most 2^63 - 1. Times are pool time [ms].
struct LeaseClaims {
  std::string pool;                    ///< iss
  std::string daemon;                  ///< aud
  std::string device;                  ///< dev
  std::string holder;                  ///< sub, as Stream::user() names the peer
  std::string lease;                   ///< jti
  std::uint64_t epoch = 0;             ///< epo
  std::uint64_t floor = 0;             ///< flo: the least epoch that the device serves from now on
  bool exclusive = true;               ///< mod
  std::uint64_t memory_bytes = 0;      ///< mem, of all sessions of the lease on the device
  std::uint64_t share = 0;             ///< shr, weight on the device, per mille
  std::uint64_t sessions = 0;          ///< ses, at most at a time
  std::string rights;                  ///< rgt
  std::int64_t issued_ms = 0;          ///< iat
  std::int64_t end_ms = 0;             ///< exp
  std::int64_t rev = 0;                ///< the revision of the state that the token was made from
  std::optional<std::uint32_t> uid{};  ///< who may present it over a Unix socket

  friend bool operator==(const LeaseClaims&, const LeaseClaims&) = default;
};

/// Reads claims from JSON. Unknown claims are ignored; known ones, except uid, must be there.
/// Checks types and ranges of numbers, and no meaning, which is the gate's work.
/// @pre the text has a valid signature
/// Errors: denied; the message names the claim   Threads: any
Result<LeaseClaims> parse_lease_claims(std::string_view json);

}  // namespace ob::pool
