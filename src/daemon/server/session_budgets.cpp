#include "daemon/server/session_budgets.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "device/host_memory.hpp"

namespace ob::daemon {
namespace {

constexpr std::uint64_t kLeastHostLimit = std::uint64_t{1} << 30;
// Threads of queues and links, of all sessions together. Far more than the connections of a daemon
// use: a client has a few queues.
constexpr std::uint64_t kMostThreads = 8192;
// Plans that sessions hold. A client keeps some tens between calls.
constexpr std::uint64_t kMostPlans = 16384;

// Takes at most one half of the threads that the system allows. The rest is for connections and for
// the libraries.
std::uint64_t most_threads() {
  std::uint64_t most = 2 * kMostThreads;
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) == 0) most = std::min<std::uint64_t>(most, limit.rlim_cur);
  for (const char* file : {"/proc/sys/kernel/threads-max", "/sys/fs/cgroup/pids.max"}) {
    std::uint64_t allowed = most;
    if (std::ifstream(file) >> allowed) most = std::min(most, allowed);
  }
  return most / 2;
}

std::shared_ptr<ResourceBudget> budget_of(const Resource& resource) {
  return std::make_shared<ResourceBudget>(resource);
}

}  // namespace

SessionBudgets::SessionBudgets(const std::vector<std::uint64_t>& memory_bytes,
                               const SessionLimits& limits)
    : limits_(limits),
      threads_(budget_of(
          {.unit = "threads", .all = most_threads(), .sharing = Resource::Sharing::always})),
      plans_(
          budget_of({.unit = "plans", .all = kMostPlans, .sharing = Resource::Sharing::always})) {
  std::uint64_t all_host_bytes = share_of_host_memory(1);
  std::uint64_t sessions_host_bytes = 0;
  for (const std::uint64_t bytes : memory_bytes) {
    const std::uint64_t asked = limits.host_memory_bytes;
    session_host_bytes_.push_back(asked != 0 ? asked : std::max(bytes, kLeastHostLimit));
    sessions_host_bytes += session_host_bytes_.back();
    memory_.push_back(budget_of({.unit = "bytes of the device",
                                 .all = bytes,
                                 .user = counted_bytes(limits.user_memory_bytes),
                                 .session_option = "--session-memory",
                                 .user_option = "--user-memory",
                                 .all_option = "--device-memory",
                                 .all_is_enforced = true}));
  }
  const std::uint64_t user_host_bytes = limits.user_host_memory_bytes;
  all_host_bytes = std::max({all_host_bytes, sessions_host_bytes, user_host_bytes});
  host_memory_ = budget_of({.unit = "bytes of the host",
                            .all = all_host_bytes,
                            .user = user_host_bytes != 0 ? user_host_bytes : all_host_bytes,
                            .session_option = "--session-host-memory",
                            .user_option = "--user-host-memory",
                            .all_option = "--user-host-memory"});
}

SessionAccounts SessionBudgets::open(std::uint32_t device, const std::string& user) const {
  return {memory_[device]->open(user, counted_bytes(limits_.memory_bytes)),
          host_memory_->open(user, session_host_bytes_[device]), threads_->open(user, UINT64_MAX),
          plans_->open(user, UINT64_MAX)};
}

}  // namespace ob::daemon
