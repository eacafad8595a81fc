#include "daemon/lease_gate/lease_rules.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace ob::daemon {

using pool::DesiredDevice;
using pool::DesiredLease;
using pool::LeaseClaims;

namespace {

constexpr std::uint64_t kMostPoolNumber = std::numeric_limits<std::int64_t>::max();

bool is_uid(std::string_view user) noexcept { return user.starts_with("uid "); }

}  // namespace

bool may_present(const LeaseClaims& claims, std::string_view user) {
  if (is_uid(user) && claims.uid) {
    const bool stated = user == "uid " + std::to_string(*claims.uid);
    return stated && (claims.holder == user || !is_uid(claims.holder));
  }
  return claims.holder == user;
}

const char* nonsense_in(const LeaseClaims& claims) noexcept {
  if (claims.share < 1 || claims.share > kWholeShare) return "its share is not 1 to 1000 per mille";
  if (claims.sessions < 1) return "it allows no session";
  if (claims.floor > claims.epoch) return "its floor is above its epoch";
  if (claims.exclusive && claims.floor < claims.epoch) return "it is exclusive beside older leases";
  return nullptr;
}

LeaseTerms terms_of(const LeaseClaims& claims) {
  return {claims.lease,        claims.holder, claims.epoch, claims.exclusive,
          claims.memory_bytes, claims.share,  claims.rights};
}

Status senseless(const char* why) {
  return {Code::invalid_argument,
          std::string("the state that the pool's manager wants is refused (") + why +
              ") look into the manager's log"};
}

Result<std::map<std::uint64_t, DesiredLease>> leases_by_epoch(const DesiredDevice& device) {
  if (device.leases.size() > kMostLeases) {
    return senseless("it has more than 1000 leases for a device");
  }
  if (device.floor > kMostPoolNumber) return senseless("a floor is 2^63 or more");
  std::map<std::uint64_t, DesiredLease> leases;
  for (const DesiredLease& lease : device.leases) {
    if (lease.end_ms < 0 ||
        std::max({lease.epoch, lease.memory_bytes, lease.share}) > kMostPoolNumber) {
      return senseless("a number of a lease is negative, or 2^63 or more");
    }
    if (!leases.emplace(lease.epoch, lease).second) return senseless("it has an epoch twice");
  }
  return leases;
}

}  // namespace ob::daemon
