#include "client/remote_plans.hpp"

#include <algorithm>

#include "routines/codec.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// The number of remembered plans. A daemon makes a plan again within milliseconds.
constexpr std::size_t kMaxRemembered = 128;
// This many plans stay even if the daemon wants less memory to be kept: without them a program with
// a few transforms would plan in every call.
constexpr std::size_t kMinRemembered = 8;
// A plan takes about 30 KiB of the daemon's host memory (FFTW, 240 x 240), and more for large data.
// The estimate is the size of the data, but at least this.
constexpr std::uint64_t kMinPlanBytes = 128 << 10;

std::uint64_t counted_bytes(const FftPlan& plan) {
  return std::max(input_bytes(plan), kMinPlanBytes);
}

}  // namespace

Result<PlanId> RemotePlans::make(const FftPlan& plan) {
  OB_RETURN_IF_ERROR(link_.usable());
  const PlanId id{link_.next_id()};
  wire::Body body;
  encode_plan(id, plan, body);
  OB_RETURN_IF_ERROR(link_.command(Opcode::make_plan, {}, body.bytes()).status());
  sizes_[id] = {input_bytes(plan), output_bytes(plan)};
  return id;
}

Status RemotePlans::destroy(PlanId plan) {
  OB_RETURN_IF_ERROR(link_.usable());
  sizes_.erase(plan);
  return link_.command(Opcode::destroy_plan, {}, wire::DestroyPlan{plan}).status();
}

const RemotePlans::Sizes* RemotePlans::sizes(PlanId plan) const {
  const auto at = sizes_.find(plan);
  return at == sizes_.end() ? nullptr : &at->second;
}

Result<PlanId> RemotePlans::remembered(const FftPlan& plan) {
  const auto at = std::find_if(remembered_.begin(), remembered_.end(),
                               [&](const auto& p) { return p.first == plan; });
  if (at != remembered_.end()) {
    std::rotate(at, std::next(at), remembered_.end());
    return remembered_.back().second;
  }
  OB_ASSIGN_OR_RETURN(const PlanId id, make(plan));
  remembered_.emplace_back(plan, id);
  remembered_bytes_ += counted_bytes(plan);
  OB_RETURN_IF_ERROR(forget_oldest());
  return id;
}

Status RemotePlans::forget_oldest() {
  while (remembered_.size() > kMaxRemembered ||
         (remembered_.size() > kMinRemembered && remembered_bytes_ > link_.keep_bytes() / 4)) {
    OB_RETURN_IF_ERROR(destroy(remembered_.front().second));
    remembered_bytes_ -= counted_bytes(remembered_.front().first);
    remembered_.pop_front();
  }
  return {};
}

Status RemotePlans::drop_remembered() {
  for (const auto& [plan, id] : remembered_) OB_RETURN_IF_ERROR(destroy(id));
  remembered_.clear();
  remembered_bytes_ = 0;
  return {};
}

}  // namespace ob::client
