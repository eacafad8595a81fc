// The plans of a remote device, and which of them are remembered.

#include <algorithm>

#include "client/remote_device.hpp"
#include "routines/codec.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// A program's working set of plans; making one again costs the daemon milliseconds at most.
constexpr std::size_t kMaxCachedPlans = 128;
// So many stay whatever the daemon wants to be kept: without them a program of a few transforms
// plans in every call.
constexpr std::size_t kLeastCachedPlans = 8;
// A plan takes about 30 KiB of the daemon's host (FFTW, 240 x 240), more for large data: the data's
// size stands for it, but not less than this.
constexpr std::uint64_t kLeastPlanBytes = 128 << 10;

std::uint64_t counted_bytes(const FftPlan& plan) {
  return std::max(input_bytes(plan), kLeastPlanBytes);
}

}  // namespace

Result<PlanId> RemoteDevice::make_plan(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(usable());
  const PlanId id{next_id_++};
  wire::Body body;
  encode_plan(id, plan, body);
  auto sent = connection_->command(Opcode::make_plan, {}, body.bytes());
  if (!sent.ok()) return note(sent.status());
  plan_bytes_[id] = {input_bytes(plan), output_bytes(plan)};
  return id;
}

Result<PlanId> RemoteDevice::plan_for(const FftPlan& plan) {
  const auto at =
      std::find_if(plans_.begin(), plans_.end(), [&](const auto& p) { return p.first == plan; });
  if (at != plans_.end()) {
    std::rotate(at, std::next(at), plans_.end());  // those in use now are the last to go
    return plans_.back().second;
  }
  OB_ASSIGN_OR_RETURN(const PlanId id, make_plan(plan));
  plans_.emplace_back(plan, id);
  planned_bytes_ += counted_bytes(plan);
  OB_RETURN_IF_ERROR(forget_oldest_plans());
  return id;
}

Status RemoteDevice::forget_oldest_plans() {
  while (plans_.size() > kMaxCachedPlans ||
         (plans_.size() > kLeastCachedPlans && planned_bytes_ > keep_bytes_ / 4)) {
    OB_RETURN_IF_ERROR(destroy_plan(plans_.front().second));
    planned_bytes_ -= counted_bytes(plans_.front().first);
    plans_.pop_front();
  }
  return {};
}

Status RemoteDevice::drop_cached_plans() {
  for (const auto& [plan, id] : plans_) OB_RETURN_IF_ERROR(destroy_plan(id));
  plans_.clear();
  planned_bytes_ = 0;
  return {};
}

Status RemoteDevice::destroy_plan(PlanId plan) {
  OB_RETURN_IF_ERROR(usable());
  plan_bytes_.erase(plan);
  auto sent = connection_->command(Opcode::destroy_plan, {}, wire::DestroyPlan{plan});
  return note(sent.status());
}

}  // namespace ob::client
