#pragma once
// The rules of the gate that depend on nothing but a token, or a state that the manager wants.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/status.hpp"
#include "daemon/lease_gate/lease_account.hpp"
#include "pool/desired_state.hpp"
#include "pool/lease_claims.hpp"

namespace ob::daemon {

/// The share of a whole device, per mille.
inline constexpr std::uint64_t kWholeShare = 1000;
/// The leases of a device: the least share is 1.
inline constexpr std::size_t kMostLeases = kWholeShare;

/// Returns whether a proven user may present the token. Over a Unix socket the kernel knows no
/// certificates, but a uid: the one that the holder has stated. A holder that is a uid can only be
/// narrowed by it.
/// @param user Stream::user(): "certificate ada", "uid 1000", or empty
bool may_present(const pool::LeaseClaims& claims, std::string_view user);

/// Returns what is wrong with well signed claims that would break the rules of others; nullptr if
/// nothing is.
const char* nonsense_in(const pool::LeaseClaims& claims) noexcept;

/// Returns what all tokens of a lease on a device say.
LeaseTerms terms_of(const pool::LeaseClaims& claims);

/// Returns the failure of a manager's answer that makes no sense.
Status senseless(const char* why);

/// Returns the leases of a device by epoch.
/// Errors: senseless() if an epoch is listed twice, a number is out of range, or there are more
///         than kMostLeases
Result<std::map<std::uint64_t, pool::DesiredLease>> leases_by_epoch(
    const pool::DesiredDevice& device);

}  // namespace ob::daemon
