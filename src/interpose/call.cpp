#include "interpose/call.hpp"
#include "offload/accuracy.hpp"

#include <algorithm>

#include "algorithms/offload.hpp"
#include "interpose/preserve_errno.hpp"
#include "interpose/process_engine.hpp"
#include "offload/attempts.hpp"
#include "offload/decide.hpp"
#include "offload/one_device.hpp"
#include "offload/profiles.hpp"
#include "offload/several_products.hpp"
#include "offload/verified.hpp"
#include "offload/work.hpp"

namespace ob::interpose {

using namespace offload;

namespace {

class CallJob final : public offload::RemoteJob {
 public:
  CallJob(const Descriptor& routine, const Argument* arguments)
      : routine_(routine), arguments_(arguments) {}
  Status run(State& state, client::AcquiredDevice& acquired,
             algorithms::CallTimings& timings) override {
    if (const auto done = run_on_several(state, acquired, routine_, arguments_, timings))
      return *done;
    return run_on_one(state, acquired, routine_, arguments_, timings);
  }

 private:
  const Descriptor& routine_;
  const Argument* arguments_;
};

class BatchJob final : public offload::RemoteJob {
 public:
  BatchJob(const Descriptor& routine, std::span<const CallArguments> calls)
      : routine_(routine), calls_(calls) {}
  Status run(State&, client::AcquiredDevice& acquired, algorithms::CallTimings& timings) override {
    return algorithms::offload_calls(acquired.device(), acquired.queue(), routine_, calls_,
                                     timings);
  }

 private:
  const Descriptor& routine_;
  std::span<const CallArguments> calls_;
};

}  // namespace

void Call::decide(const Argument* arguments, std::size_t batch, const void* original) noexcept {
  State* s = state();
  if (s == nullptr) return;
  counted_ = true;
  RoutineRecord& record = s->routine(routine_);
  ReportRow* row = s->row(record, routine_.name);
  if (row != nullptr) add(row->calls, 1);
  const auto server = s->pool.preferred();
  const ServerFacts* facts = server ? s->tuning.server(*server) : nullptr;
  work_ = work_of(routine_, arguments, batch, facts != nullptr ? facts->memory_bytes : UINT64_MAX);
  const bool eligible = !routine_.trivial(arguments) && s->may_leave(record, routine_.name);
  if (eligible && row != nullptr) add(row->eligible, 1);
  const bool alone = batch == 1;
  const bool strict = accuracy_now(s->config) == Accuracy::strict;  // no two libraries then
  const bool may_share = alone && routine_.base == "gemm" && !s->config.verify && !strict;
  if (eligible && s->config.mode == Mode::remote) {
    leaves_ = true;
    share_ = may_share ? s->config.share.value_or(0) : 0;
  }
  if (s->tuning.learns()) acquaint(*s, record, routine_.name, original, nullptr);
  // Vectors and matrix-vector products move as much as they compute: never for data on this side.
  const bool may_gain = routine_.level == 3 && s->config.mode == Mode::automatic;
  if (!eligible || !may_gain || s->pool.servers().empty()) return;
  const Question question{.record = record,
                          .name = routine_.name,
                          .work = work_,
                          .original = original,
                          .routine = alone ? &routine_ : nullptr,
                          .arguments = alone ? arguments : nullptr};
  const policy::Verdict verdict = choose(*s, question);
  leaves_ = verdict.choice == policy::Choice::remote;
  if (may_share) share_ = choose_share(*s, question, verdict);
  share_began_ns_ = share_ > 0 ? now_ns() : 0;
}

Call::Call(const Descriptor& routine, const Argument* arguments, const void* original) noexcept
    : routine_(routine) {
  if (!nesting_.outermost()) return;
  const PreserveErrno preserve_errno;
  decide(arguments, 1, original);
}

Call::Call(const Descriptor& routine, std::span<const CallArguments> calls,
           const void* original) noexcept
    : routine_(routine) {
  if (!nesting_.outermost()) return;
  const PreserveErrno preserve_errno;
  // Groups of different sizes are rare; the smallest call decides.
  const auto smallest =
      std::min_element(calls.begin(), calls.end(), [&](const auto& a, const auto& b) {
        return routine.flops(a.items) < routine.flops(b.items);
      });
  decide(smallest->items, calls.size(), original);
}

bool Call::run(offload::RemoteJob& job, std::span<const CallArguments> calls,
               const Argument* single) noexcept {
  const PreserveErrno preserve_errno;
  State* s = state();
  if (s == nullptr) return false;
  RoutineRecord& record = s->routine(routine_);
  if (!s->config.verify) return run_remotely(*s, record, routine_.name, work_, job);
  try {
    std::vector<const Argument*> all;
    for (const CallArguments& call : calls) all.push_back(call.items);
    if (single != nullptr) all.push_back(single);
    VerifiedCalls verified(job, record, routine_, all);
    return run_remotely(*s, record, routine_.name, work_, verified);
  } catch (...) {  // no memory: local it is
    return false;
  }
}

// The part counts as the call that went out.
bool Call::run_part(const Argument* part) noexcept {
  const PreserveErrno preserve_errno;
  State* s = state();
  if (s == nullptr) return false;
  CallJob job(routine_, part);
  return run_remotely(*s, s->routine(routine_), routine_.name, work_of(routine_, part), job);
}

void Call::shared(bool remotely) noexcept {
  const PreserveErrno preserve_errno;
  State* s = state();
  if (s == nullptr || !remotely) return;
  const double seconds = static_cast<double>(now_ns() - share_began_ns_) * 1e-9;
  learn_share(s->routine(routine_), work_, true, seconds);
}

bool Call::run(const Argument* arguments) noexcept {
  CallJob job(routine_, arguments);
  return run(job, {}, arguments);
}

bool Call::run(std::span<const CallArguments> calls) noexcept {
  BatchJob job(routine_, calls);
  return run(job, calls, nullptr);
}

void Call::begin_local() noexcept {
  if (counted_) started_ns_ = now_ns();
}

Call::~Call() {
  if (started_ns_ == 0) return;
  const PreserveErrno preserve_errno;
  if (State* s = state()) count_local(*s, s->routine(routine_), routine_.name, work_, started_ns_);
}

}  // namespace ob::interpose
