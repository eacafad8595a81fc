#pragma once
// An account says how much a lease of the pool may use on a device.

#include <cstdint>
#include <memory>
#include <string>

#include "base/use_counter.hpp"
#include "daemon/memory/resource_account.hpp"
#include "device/account.hpp"
#include "pool/lease_claims.hpp"

namespace ob::daemon {

/// The terms of a lease on one device. All its tokens say the same.
struct LeaseTerms {
  std::string lease;
  std::string holder;
  std::uint64_t epoch = 0;
  bool exclusive = true;
  std::uint64_t memory_bytes = 0;  ///< of all its sessions together
  std::uint64_t share = 0;         ///< its weight in the turns on the device, per mille
  std::string rights;

  friend bool operator==(const LeaseTerms&, const LeaseTerms&) = default;
};

/// Counts the device's memory for all sessions of a lease on one device.   Threads: any
class LeaseAccount {
 public:
  /// @param use the counter of the lease on the device; nullptr: nobody counts
  explicit LeaseAccount(LeaseTerms terms, std::shared_ptr<UseCounter> use = nullptr);

  const LeaseTerms& terms() const noexcept { return terms_; }
  /// Returns the weight of the lease's sessions in the turns on the device, Account::weight.
  LeaseWeight weight() const noexcept {
    return {LeaseId{terms_.epoch}, static_cast<std::uint32_t>(terms_.share)};
  }
  /// The counter of all sessions that the lease has had on the device; nullptr: nobody counts.
  const std::shared_ptr<UseCounter>& use() const noexcept { return use_; }
  /// Makes the account of a session's device memory, SessionAccounts::memory. The sessions of a
  /// lease share its memory; others cannot take it.
  std::shared_ptr<ResourceAccount> open_memory() const;

 private:
  const LeaseTerms terms_;
  const std::shared_ptr<UseCounter> use_;
  const std::shared_ptr<ResourceBudget> memory_;
};

}  // namespace ob::daemon
