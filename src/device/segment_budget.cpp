#include "device/segment_budget.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace ob {
namespace {

constexpr std::uint64_t kMappingsOfASegment = 3;  // the file, and a guard on each side
constexpr std::uint64_t kSessionFactor = 3;

std::uint64_t most_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;  // the kernel's default
  return limit.rlim_cur;
}

std::uint64_t most_mappings() {
  std::uint64_t most = 65530;  // the kernel's default
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  return most;
}

Status refused(const char* whose, std::uint64_t held, std::uint64_t all, std::uint64_t most) {
  return {Code::out_of_memory,
          std::string("no memory file left for this ") + whose + " (it holds " +
              std::to_string(held) + "; all hold " + std::to_string(all) + " of " +
              std::to_string(most) +
              "); free large buffers or raise the daemon's limit of open files (ulimit -n)"};
}

}  // namespace

std::uint64_t SegmentBudget::share_of_process(unsigned devices) {
  const std::uint64_t most =
      std::min(most_descriptors() / 2, most_mappings() / 4 * 3 / kMappingsOfASegment);
  return most / std::max(1u, devices);
}

void SegmentBudget::set_most(std::uint64_t most) {
  const std::lock_guard lock(mutex_);
  most_ = most;
}

std::uint64_t SegmentBudget::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

Result<std::shared_ptr<HostSegment>> SegmentBudget::create(const Account& owner,
                                                           std::uint64_t wanted_bytes) {
  OB_ASSIGN_OR_RETURN(auto hold, take(owner));
  OB_ASSIGN_OR_RETURN(auto segment, HostSegment::create(wanted_bytes));
  segment->hold(std::move(hold));
  return segment;
}

Status SegmentBudget::count(const Account& owner, HostSegment& segment) {
  OB_ASSIGN_OR_RETURN(auto hold, take(owner));
  segment.hold(std::move(hold));
  return {};
}

Result<std::shared_ptr<const void>> SegmentBudget::take(const Account& owner) {
  {
    const std::lock_guard lock(mutex_);
    User& user = users_[owner.user];
    std::uint64_t& session = user.sessions[owner.session];
    const std::uint64_t left = most_ - std::min(most_, held_);
    const std::uint64_t left_of_user = left - std::min(left, user.held);
    const bool trusted = owner == Account();
    const bool user_may = trusted ? left > 0 : user.held < left;
    const bool session_may = trusted || session < kSessionFactor * left_of_user;
    if (!user_may || !session_may) {
      const Status status = user_may ? refused("session", session, held_, most_)
                                     : refused("user", user.held, held_, most_);
      forget_unused(owner);
      return status;
    }
    ++session;
    ++user.held;
    ++held_;
  }
  return std::shared_ptr<const void>(
      this, [budget = shared_from_this(), owner](const void*) { budget->give_back(owner); });
}

void SegmentBudget::give_back(const Account& owner) noexcept {
  const std::lock_guard lock(mutex_);
  User& user = users_[owner.user];
  --user.sessions[owner.session];
  --user.held;
  --held_;
  forget_unused(owner);
}

// @pre mutex_ is held, and the owner has entries
void SegmentBudget::forget_unused(const Account& owner) noexcept {
  const auto user = users_.find(owner.user);
  const auto session = user->second.sessions.find(owner.session);
  if (session->second == 0) user->second.sessions.erase(session);
  if (user->second.sessions.empty()) users_.erase(user);
}

}  // namespace ob
