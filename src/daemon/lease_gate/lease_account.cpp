#include "daemon/lease_gate/lease_account.hpp"

#include <utility>

#include "daemon/memory/resource_budget.hpp"
#include "device/memory_table.hpp"

namespace ob::daemon {

LeaseAccount::LeaseAccount(LeaseTerms terms, std::shared_ptr<UseCounter> use)
    : terms_(std::move(terms)),
      use_(std::move(use)),
      memory_(std::make_shared<ResourceBudget>(
          Resource{.unit = "bytes of the device",
                   .all = counted_bytes(terms_.memory_bytes),
                   .user = counted_bytes(terms_.memory_bytes),
                   .user_option = "the memory of the lease (--memory)",
                   .sessions = "all sessions of this lease"})) {}

// The sessions count as those of one user, who shares with nobody.
std::shared_ptr<ResourceAccount> LeaseAccount::open_memory() const {
  return memory_->open("lease " + terms_.lease, UINT64_MAX);
}

}  // namespace ob::daemon
