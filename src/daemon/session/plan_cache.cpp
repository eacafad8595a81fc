#include "daemon/session/plan_cache.hpp"

#include <algorithm>

namespace ob::daemon {
namespace {

// Plans that nobody uses take at most one part in this many of the device's memory.
constexpr std::uint64_t kMemoryParts = 8;

PlanCache::Limits with_defaults(PlanCache::Limits limits, const Device& device) {
  if (limits.idle_bytes == 0) limits.idle_bytes = device.info().memory_bytes / kMemoryParts;
  return limits;
}

// Returns the plan with fixed values in the fields that do not matter.
FftPlan key_of(FftPlan plan) noexcept {
  if (plan.kind != FftKind::c2c) plan.sign = plan.kind == FftKind::c2r ? 1 : -1;
  for (std::size_t i = 0; i < plan.n.size(); ++i) {
    if (i >= plan.rank) plan.n[i] = 0;
    if (i >= plan.rank || plan.kind != FftKind::r2r) plan.real[i] = RealTransform::r2hc;
  }
  return plan;
}

}  // namespace

PlanCache::PlanCache(Device& device, const Limits& limits)
    : device_(device), limits_(with_defaults(limits, device)) {}

PlanCache::~PlanCache() { destroy(idle_); }

std::size_t PlanCache::Hash::operator()(const FftPlan& plan) const noexcept {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, by words
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
  mix(static_cast<std::uint64_t>(plan.kind));
  mix(static_cast<std::uint64_t>(plan.precision));
  mix(static_cast<std::uint64_t>(plan.sign + 1) * 2 + (plan.in_place ? 1 : 0));
  mix(plan.rank);
  for (std::size_t i = 0; i < plan.rank && i < plan.n.size(); ++i) {
    mix(plan.n[i]);
    mix(static_cast<std::uint64_t>(plan.real[i]));
  }
  mix(plan.batch);
  return hash;
}

Result<std::unique_ptr<const PlanCache::Plan>> PlanCache::plan_for(const FftPlan& plan,
                                                                   const Account& account) {
  // Only a well-formed plan has a key, because rank says how much of the arrays counts.
  if (plan.rank > FftPlan::kMaxRank) return device_.make_plan(plan).status();
  const FftPlan key = key_of(plan);
  const std::lock_guard lock(mutex_);
  if (const auto at = known_.find(key); at != known_.end()) {
    const Place place = at->second;
    if (place->users == 0) {
      idle_bytes_ -= place->bytes;
      used_.splice(used_.end(), idle_, place);
    }
    ++place->users;
    ++hits_;
    return std::make_unique<const Plan>(*this, place);
  }
  OB_ASSIGN_OR_RETURN(const PlanId local, device_.make_plan(key, account));
  ++made_;
  const std::uint64_t bytes =
      std::max({input_bytes(key), output_bytes(key), device_.plan_host_bytes(key)});
  used_.push_back({key, local, bytes, 1, false});
  known_.emplace(key, std::prev(used_.end()));
  return std::make_unique<const Plan>(*this, std::prev(used_.end()));
}

void PlanCache::release(Place place) {
  Entries gone;
  {
    const std::lock_guard lock(mutex_);
    if (--place->users > 0) return;
    if (place->withdrawn) {
      gone.splice(gone.end(), used_, place);
    } else {
      idle_bytes_ += place->bytes;
      idle_.splice(idle_.end(), used_, place);
      gone = take_surplus();
    }
  }
  destroy(gone);
}

void PlanCache::withdraw(Place place) {
  const std::lock_guard lock(mutex_);
  if (!place->withdrawn) known_.erase(place->key);
  place->withdrawn = true;
}

PlanCache::Entries PlanCache::take_surplus() {
  Entries gone;
  while (idle_.size() > limits_.idle_plans || idle_bytes_ > limits_.idle_bytes) {
    known_.erase(idle_.front().key);
    idle_bytes_ -= idle_.front().bytes;
    gone.splice(gone.end(), idle_, idle_.begin());
  }
  return gone;
}

std::size_t PlanCache::drop_idle() {
  Entries gone;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : idle_) known_.erase(entry.key);
    gone.swap(idle_);
    idle_bytes_ = 0;
  }
  destroy(gone);
  return gone.size();
}

// Runs without the lock, because a library may take long.
void PlanCache::destroy(const Entries& gone) {
  for (const Entry& entry : gone) (void)device_.destroy_plan(entry.local);
}

PlanCache::Counts PlanCache::counts() const {
  const std::lock_guard lock(mutex_);
  return {hits_, made_, idle_.size(), idle_bytes_};
}

}  // namespace ob::daemon
