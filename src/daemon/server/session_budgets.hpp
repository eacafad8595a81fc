#pragma once
// The resources of a daemon that its sessions share.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/memory/resource_budget.hpp"
#include "daemon/session/session.hpp"

namespace ob::daemon {

/// The memory limits of a daemon with several sessions.
struct SessionLimits {
  /// Device memory that all buffers of a session may use together.
  std::uint64_t memory_bytes = UINT64_MAX;
  /// Host memory that queues, plans and digests of a session may use. 0: as much as the device has,
  /// but at least 1 GiB.
  std::uint64_t host_memory_bytes = 0;
  /// Memory of each device that all sessions of a user may use together.
  std::uint64_t user_memory_bytes = UINT64_MAX;
  /// Host memory that all sessions of a user may use together. 0: three quarters of the machine's
  /// memory, but at least one session's limit for each device.
  std::uint64_t user_host_memory_bytes = 0;
};

/// Makes the accounts of sessions.   Threads: any
class SessionBudgets {
 public:
  /// @param memory_bytes of each device
  SessionBudgets(const std::vector<std::uint64_t>& memory_bytes, const SessionLimits& limits);

  /// @param user the proven one; empty: none   @pre device < memory_bytes.size()
  SessionAccounts open(std::uint32_t device, const std::string& user) const;

 private:
  const SessionLimits limits_;
  std::vector<std::uint64_t> session_host_bytes_;        // by device
  std::vector<std::shared_ptr<ResourceBudget>> memory_;  // by device
  std::shared_ptr<ResourceBudget> host_memory_;
  const std::shared_ptr<ResourceBudget> threads_;
  const std::shared_ptr<ResourceBudget> plans_;
};

}  // namespace ob::daemon
