#include "daemon/peers/grant.hpp"

#include <algorithm>
#include <utility>

namespace ob::daemon {
namespace {

// Data that is about to arrive completely may do so when a grant is revoked.
constexpr std::chrono::milliseconds kGrace{100};

Status gone() {
  return {Code::denied, "the grant has ended (revoked, its buffer freed, or its lease over)"};
}

}  // namespace

Grant::Grant(Device& device, const wire::Token& secret, GrantTerms terms,
             std::shared_ptr<DeviceBuffer> buffer, std::shared_ptr<ResourceAccount> host_memory,
             Settle settle)
    : device_(device),
      secret_(secret),
      terms_(std::move(terms)),
      buffer_(std::move(buffer)),
      host_memory_(std::move(host_memory)),
      settle_(std::move(settle)) {}

Status Grant::check_valid() const {
  const std::lock_guard lock(mutex_);
  return ended() ? gone() : Status();
}

// @pre mutex_ is held
Status Grant::admit(std::uint32_t may, const wire::GrantRange& range, const std::string& user) {
  if (ended()) return gone();
  if (Clock::now() >= terms_.end) return {Code::denied, "the grant has expired"};
  if (!terms_.user.empty() && terms_.user != user) {
    return {Code::denied, "the grant is for another user"};
  }
  if ((terms_.may & may) == 0) {
    return {Code::denied, may == wire::kMayRead ? "the grant permits no reading"
                                                : "the grant permits no writing"};
  }
  if (range.size_bytes == 0 || range.offset_bytes > terms_.size_bytes ||
      range.size_bytes > terms_.size_bytes - range.offset_bytes) {
    return {Code::invalid_argument, std::to_string(range.size_bytes) + " bytes at byte " +
                                        std::to_string(range.offset_bytes) +
                                        " are not in the grant's range of " +
                                        std::to_string(terms_.size_bytes) + " bytes"};
  }
  if (terms_.uses != 0 && used_ >= terms_.uses) {
    return {Code::denied, "the grant was used as often as it permits"};
  }
  ++used_;
  return {};
}

Result<std::unique_ptr<Grant::Use>> Grant::begin(const std::shared_ptr<Grant>& grant,
                                                 std::uint32_t may, const wire::GrantRange& range,
                                                 const std::string& user,
                                                 std::function<void()> stop) {
  const Region region{.offset_bytes = grant->terms_.offset_bytes + range.offset_bytes,
                      .rows = range.size_bytes,
                      .cols = 1,
                      .ld = range.size_bytes};
  std::unique_ptr<Use> use;
  const std::lock_guard lock(grant->mutex_);
  OB_RETURN_IF_ERROR(grant->admit(may, range, user));
  use.reset(new Use(*grant, grant, region, std::move(stop)));
  grant->uses_.push_back(use.get());
  return use;
}

Status Grant::Use::settle(const std::function<Status()>& also) const {
  return grant_.settle_([&]() -> Status {
    OB_RETURN_IF_ERROR(check());
    return also();
  });
}

Status Grant::Use::land() {
  std::list<std::shared_ptr<Gate>> reached;
  {
    const std::lock_guard lock(grant_.mutex_);
    if (grant_.ended()) return gone();
    ++grant_.landed_;
    const auto end = grant_.waiting_.upper_bound(grant_.landed_);
    for (auto at = grant_.waiting_.begin(); at != end; ++at) reached.push_back(at->second);
    grant_.waiting_.erase(grant_.waiting_.begin(), end);
  }
  for (const auto& gate : reached) gate->open();
  return {};
}

void Grant::end(const Use& use) {
  const std::lock_guard lock(mutex_);
  uses_.remove(&use);
  ended_.notify_all();
}

std::shared_ptr<const Gate> Grant::landed(std::uint64_t count) {
  auto gate = std::make_shared<Gate>();
  const std::lock_guard lock(mutex_);
  if (landed_ >= count) {
    gate->open();
  } else if (revoked_) {
    gate->open(gone());
  } else {
    waiting_.emplace(count, gate);
  }
  return gate;
}

void Grant::revoke() {
  std::multimap<std::uint64_t, std::shared_ptr<Gate>> failed;
  {
    std::unique_lock lock(mutex_);
    revoked_ = true;
    failed.swap(waiting_);
    const auto none = [this] { return uses_.empty(); };
    if (!ended_.wait_for(lock, kGrace, none)) {
      for (const Use* use : uses_) use->stop_();
      ended_.wait(lock, none);
    }
  }
  for (const auto& [count, gate] : failed) gate->open(gone());
}

}  // namespace ob::daemon
