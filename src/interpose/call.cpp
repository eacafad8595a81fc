#include "interpose/call.hpp"

#include <algorithm>

#include "algorithms/gemm_pipeline.hpp"
#include "algorithms/offload.hpp"
#include "interpose/remote_run.hpp"
#include "interpose/resident.hpp"
#include "interpose/state.hpp"
#include "interpose/undisturbed.hpp"
#include "routines/cost.hpp"

namespace ob::interpose {
namespace {

// Shorter products are over before a second panel could be sent.
constexpr std::uint64_t kLeastPipelined = 512;

// What a device does of its dgemm rate, until it has been seen.
double device_share(const Descriptor& routine) noexcept {
  const bool single = routine.precision == Precision::s || routine.precision == Precision::c;
  return (single ? 2.0 : 1.0) * routine.efficiency;
}

// Large products travel in panels.
bool is_cut(const Descriptor& routine, const Argument* arguments) noexcept {
  if (routine.base != "gemm") return false;
  const algorithms::ProductShape shape = algorithms::product_shape(routine, arguments);
  return std::min({shape.m, shape.n, shape.k}) >= kLeastPipelined;
}

class CallJob final : public RemoteJob {
 public:
  CallJob(const Descriptor& routine, const Argument* arguments)
      : routine_(routine), arguments_(arguments) {}
  Status run(State& state, client::Lease& lease, algorithms::Stages& stages) override {
    algorithms::Residency* resident =
        residency_of(lease, state.settings, state.pool.link(lease.server()));
    const Status status = offload(state, lease, resident, stages);
    if (status.code() == Code::out_of_memory && resident != nullptr) (void)resident->release();
    return status;
  }

 private:
  Status offload(State& state, client::Lease& lease, algorithms::Residency* resident,
                 algorithms::Stages& stages) {
    if (const algorithms::ProductSchedule* schedule = schedule_for(state, lease)) {
      return algorithms::offload_product(lease.device(), lease.queue(), routine_, arguments_,
                                         *schedule, resident, stages);
    }
    return algorithms::offload_call(lease.device(), lease.queue(), routine_, arguments_, stages,
                                    resident);
  }

  // nullptr unless it is a large product, and what it takes is known well enough to cut it up.
  const algorithms::ProductSchedule* schedule_for(State& state, client::Lease& lease) {
    if (!is_cut(routine_, arguments_)) return nullptr;
    const algorithms::ProductShape shape = algorithms::product_shape(routine_, arguments_);
    const algorithms::PipelineModel model = model_of(state, lease);
    if (!model.known()) return nullptr;
    const algorithms::ProductSchedule& schedule = schedule_of(lease, shape, model);
    return schedule.a.size() + schedule.b.size() > 2 ? &schedule : nullptr;
  }

  algorithms::PipelineModel model_of(State& state, client::Lease& lease) {
    const Link link = state.pool.link(lease.server());
    const double seen = state.routine(routine_).remote.rate(routine_.flops(arguments_));
    const double told = lease.device().info().gflops_double * 1e9 * device_share(routine_);
    return {.to_bytes_per_s = link.to_bytes_per_s,
            .from_bytes_per_s = link.from_bytes_per_s,
            .message_s = algorithms::kMessageSeconds,
            .fetch_s = algorithms::kFetchSeconds,
            .flop_per_s = seen > 0 ? seen : told,
            .call_s = algorithms::kCallSeconds,
            .submit_s = algorithms::kSubmitSeconds};
  }

  const Descriptor& routine_;
  const Argument* arguments_;
};

class BatchJob final : public RemoteJob {
 public:
  BatchJob(const Descriptor& routine, std::span<const CallArguments> calls)
      : routine_(routine), calls_(calls) {}
  Status run(State&, client::Lease& lease, algorithms::Stages& stages) override {
    return algorithms::offload_calls(lease.device(), lease.queue(), routine_, calls_, stages);
  }

 private:
  const Descriptor& routine_;
  std::span<const CallArguments> calls_;
};

}  // namespace

// Of a batch, whose calls are as large as `arguments`: it leaves if each call by itself would, so
// that what a call costs besides its work is counted for each.
void Call::decide(const Argument* arguments, std::size_t batch) noexcept {
  State* s = state();
  if (s == nullptr) return;
  counted_ = true;
  RoutineRecord& record = s->routine(routine_);
  ReportRow* row = s->row(record, routine_.name);
  if (row != nullptr) add(row->calls, 1);
  const double flops = routine_.flops(arguments);
  flops_ = flops * static_cast<double>(batch);
  const bool eligible = !routine_.trivial(arguments) && s->may_leave(record, routine_.name);
  if (eligible && row != nullptr) add(row->eligible, 1);
  if (eligible && s->settings.mode == Mode::remote) leaves_ = true;
  // Vectors and matrix-vector products move as much as they compute: never for data on this side.
  const bool may_gain = routine_.level == 3 && s->settings.mode == Mode::automatic;
  if (eligible && may_gain && !s->pool.servers().empty()) {
    const Cost cost = cost_of(routine_, arguments);
    policy::Work work{cost.flop, cost.bytes_to, cost.bytes_from};
    if (is_cut(routine_, arguments)) {
      const algorithms::ProductShape shape = algorithms::product_shape(routine_, arguments);
      work.overlaps = true;
      work.bytes_to = algorithms::bytes_sent(shape);  // C stays here
    }
    leaves_ = choose(*s, record, work, device_share(routine_)) == policy::Choice::remote;
  }
}

Call::Call(const Descriptor& routine, const Argument* arguments) noexcept : routine_(routine) {
  if (!nesting_.outermost()) return;
  const Undisturbed undisturbed;
  decide(arguments, 1);
}

Call::Call(const Descriptor& routine, std::span<const CallArguments> calls) noexcept
    : routine_(routine) {
  if (!nesting_.outermost()) return;
  const Undisturbed undisturbed;
  // Groups of different sizes are rare; the smallest call decides.
  const auto smallest =
      std::min_element(calls.begin(), calls.end(), [&](const auto& a, const auto& b) {
        return routine.flops(a.items) < routine.flops(b.items);
      });
  decide(smallest->items, calls.size());
}

bool Call::run(RemoteJob& job) noexcept {
  const Undisturbed undisturbed;
  State* s = state();
  return s != nullptr && run_remotely(*s, s->routine(routine_), routine_.name, flops_, job);
}

bool Call::run(const Argument* arguments) noexcept {
  CallJob job(routine_, arguments);
  return run(job);
}

bool Call::run(std::span<const CallArguments> calls) noexcept {
  BatchJob job(routine_, calls);
  return run(job);
}

void Call::begin_local() noexcept {
  if (counted_) started_ns_ = now_ns();
}

Call::~Call() {
  if (started_ns_ == 0) return;
  const Undisturbed undisturbed;
  if (State* s = state()) count_local(*s, s->routine(routine_), routine_.name, flops_, started_ns_);
}

}  // namespace ob::interpose
