#include "interpose/fft_offload.hpp"

#include <algorithm>

#include "algorithms/fft/fft_large.hpp"
#include "interpose/nesting.hpp"
#include "interpose/preserve_errno.hpp"
#include "interpose/process_engine.hpp"
#include "offload/attempts.hpp"
#include "offload/decide.hpp"
#include "offload/profiles.hpp"
#include "offload/residents.hpp"
#include "offload/verified.hpp"
#include "offload/work.hpp"

namespace ob::interpose {

using namespace offload;

namespace {

// connections keep their plans themselves: a handle only says "planned"
constexpr std::uint64_t kPlanned = 1;

std::string_view name_of(const FftPlan& plan) noexcept {
  return fft_name(plan.kind, plan.precision == Precision::z || plan.precision == Precision::d);
}

// On the device every transform is in place: half the memory, and the caller's arrays are elsewhere
// anyway.
FftPlan on_device(FftPlan plan) noexcept {
  plan.in_place = true;
  return plan;
}

algorithms::FftArray array_of(const FftSide& side, void* data) noexcept {
  return {data, side.element_bytes, {side.dims.data(), static_cast<std::size_t>(side.dimensions)}};
}

// The bytes that travel depend on the device's memory: a transform that is too large goes in parts.
policy::Work work_here(const State& state, const FftPlan& plan) noexcept {
  const auto server = state.pool.preferred();
  const ServerFacts* facts = server ? state.tuning.server(*server) : nullptr;
  return work_of(on_device(plan), facts != nullptr ? facts->memory_bytes : UINT64_MAX);
}

policy::Choice choice_of(State& state, RoutineRecord& record, const FftPlan& plan, FftMoment moment,
                         const void* original) noexcept {
  const bool first = !state.pool.preferred() || !state.tuning.server(*state.pool.preferred());
  const auto ask = [&] {
    const policy::Work work = work_here(state, plan);
    const Question question{.record = record,
                            .name = name_of(plan),
                            .work = work,
                            .original = original,
                            .happens = moment == FftMoment::execute};
    return choose(state, question).choice;
  };
  const policy::Choice choice = ask();
  // the first choice may have made the first connection
  return first && choice == policy::Choice::remote ? ask() : choice;
}

class FftJob final : public RemoteJob {
 public:
  FftJob(const FftTransform& transform, void* input, void* output)
      : transform_(transform), input_(input), output_(output) {}
  Status run(State& state, client::AcquiredDevice& acquired,
             algorithms::CallTimings& timings) override {
    client::RemoteDevice& device = acquired.device();
    if (auto* resident = residency_of(state, acquired)) {
      const FftPlan plan = on_device(transform_.plan);
      OB_RETURN_IF_ERROR(resident->make_room(std::max(input_bytes(plan), output_bytes(plan))));
    }
    const algorithms::FftPlanner planner{[&](const FftPlan& plan) { return device.plan_for(plan); },
                                         [&] { return device.flush(); }};
    Status status =
        algorithms::offload_fft(device, acquired.queue(), planner, on_device(transform_.plan),
                                array_of(transform_.input, input_),
                                array_of(transform_.output, output_), input_ == output_, timings);
    if (!status.ok() && !acquired.device().broken()) (void)acquired.device().drop_cached_plans();
    return status;
  }

 private:
  const FftTransform& transform_;
  void* input_;
  void* output_;
};

bool sendable(State& state, RoutineRecord& record, const FftPlan& plan) noexcept {
  return points(plan) > 1 && plan.batch > 0 && state.may_leave(record, name_of(plan));
}

// A plan counts as going out only if somebody is there to take it.
FftDecision remote_if_reachable(State& state, const FftPlan& plan) noexcept {
  try {
    const auto acquired = state.pool.acquire();
    if (acquired.ok()) return FftDecision::remote;
    state.notice(acquired.status().message() + "; " + std::string(name_of(plan)) + " runs locally");
  } catch (...) {
  }
  return FftDecision::open;  // somebody may be there at a later execute
}

}  // namespace

FftDecision decide_fft(const FftTransform& transform, FftMoment moment,
                       const void* original) noexcept {
  const PreserveErrno preserve_errno;
  State* s = state();
  if (s == nullptr) return FftDecision::local;
  RoutineRecord& record = s->fft(transform.plan);
  if (!sendable(*s, record, transform.plan)) return FftDecision::local;
  if (s->config.mode == Mode::remote) return remote_if_reachable(*s, transform.plan);
  if (s->config.mode != Mode::automatic || s->pool.servers().empty()) return FftDecision::local;
  const policy::Choice choice = choice_of(*s, record, transform.plan, moment, original);
  return choice == policy::Choice::remote ? FftDecision::likely : FftDecision::open;
}

std::uint64_t plan_ahead(const FftTransform& transform) noexcept {
  const PreserveErrno preserve_errno;
  State* s = state();
  if (s == nullptr) return 0;
  try {
    auto acquired = s->pool.acquire();
    const FftPlan plan = on_device(transform.plan);
    if (!acquired.ok() || !algorithms::fits(acquired->device(), plan))
      return 0;  // parts have own plans
    if (!acquired->device().plan_for(plan).ok()) return 0;
    return acquired->device().flush().ok() ? kPlanned : 0;
  } catch (...) {
    return 0;
  }
}

// a connection's plans are bounded, and often asked for again
void forget_plan(std::uint64_t) noexcept {}

bool execute_fft(const FftTransform& transform, std::uint64_t, void* input, void* output) noexcept {
  const PreserveErrno preserve_errno;
  State* s = state();
  if (s == nullptr) return false;
  const Nesting nesting;
  RoutineRecord& record = s->fft(transform.plan);
  if (!sendable(*s, record, transform.plan)) return false;
  ReportRow* row = s->row(record, name_of(transform.plan));
  FftJob job(transform, input, output);
  VerifiedFft verified(job, record, name_of(transform.plan), transform, input, output);
  RemoteJob& run = s->config.verify ? static_cast<RemoteJob&>(verified) : job;
  const policy::Work work = work_here(*s, transform.plan);
  const bool done = run_remotely(*s, record, name_of(transform.plan), work, run);
  if (done && row != nullptr) add(row->calls, 1);  // a failed one is counted by its local run
  if (row != nullptr) add(row->eligible, done ? 1 : 0);
  return done;
}

LocalFft::LocalFft(const FftTransform& transform, const void* original) noexcept
    : transform_(transform) {
  const PreserveErrno preserve_errno;
  State* s = state();
  if (s == nullptr) return;
  counted_ = true;
  RoutineRecord& record = s->fft(transform.plan);
  ReportRow* row = s->row(record, name_of(transform.plan));
  if (row != nullptr) {
    add(row->calls, 1);
    add(row->eligible, sendable(*s, record, transform.plan) ? 1 : 0);
  }
  if (s->tuning.learns()) acquaint(*s, record, name_of(transform.plan), original, nullptr);
  started_ns_ = now_ns();
}

LocalFft::~LocalFft() {
  if (!counted_) return;
  const PreserveErrno preserve_errno;
  if (State* s = state()) {
    count_local(*s, s->fft(transform_.plan), name_of(transform_.plan),
                work_here(*s, transform_.plan), started_ns_);
  }
}

}  // namespace ob::interpose
