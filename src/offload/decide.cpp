#include "offload/decide.hpp"

#include <string>

#include "base/machine.hpp"
#include "offload/clock.hpp"
#include "offload/processor.hpp"
#include "offload/profiles.hpp"

namespace ob::offload {
namespace {

using policy::State;
using policy::Target;

// A daemon that starts with the first connection takes some tenths of a second to open its
// libraries. Calls that take less here are not worth that, unless they took long together.
constexpr double kWorthStartingS = 20e-3;
constexpr std::uint64_t kWorthStartingNs = 200'000'000;
// The error of a measured link: of one that `outboard tune` measured for seconds, and of the quick
// measurement on connecting.
constexpr double kErrorOfProfile = 1.1;
constexpr double kErrorOfQuickLink = 1.3;
// A library has fewer threads or narrower kernels than the device if its peak is this many times
// below the rate that the device measured with a large product.
constexpr double kClearlyLess = 1.5;

// Counts the time of the scope.
class SetUp {
 public:
  explicit SetUp(policy::LossBudget& budget) noexcept : budget_(budget), start_ns_(now_ns()) {}
  ~SetUp() { budget_.set_up(static_cast<double>(now_ns() - start_ns_) * 1e-9); }
  SetUp(const SetUp&) = delete;
  SetUp& operator=(const SetUp&) = delete;

 private:
  policy::LossBudget& budget_;
  const std::uint64_t start_ns_;
};

constexpr std::string_view kOwnCores =
    "the accelerator computes on this machine's own cores, and the program's library is as fast";

// The products of a well-kept library reach nine tenths of the peak.
double peak_of_this_machine() noexcept {
  return 0.9 * flop_per_cycle(this_processor()) * clock_hz() * usable_cores();
}

// A link that could not be measured so often, for lack of memory on the device, stays unknown.
constexpr std::size_t kMostMeasurements = 3;

// Library of routines of this kind that gains nothing from another one on the same cores. The
// reference LAPACK over a tuned BLAS is as fast as the LAPACK of OpenBLAS (docs/decision.md).
bool is_well_kept(const policy::LocalLibrary& library, bool is_fft) noexcept {
  using policy::LibraryKind;
  if (is_fft) return library.kind == LibraryKind::fftw;
  return library.kind == LibraryKind::tuned || library.kind == LibraryKind::reference_lapack;
}

}  // namespace

ReachedServer Decider::reach(std::size_t server) noexcept {
  try {
    const SetUp set_up(budget_);
    std::string complaint;
    ReachedServer reached{server, tuning_.probe(server, complaint)};
    if (reached.facts == nullptr) {
      const auto acquired = connections_.acquire();
      if (!acquired.ok()) {
        journal_.notice(acquired.status().message() + "; calls stay local");
        return reached;
      }
      journal_.report.set_server(connections_.servers()[acquired->server()]);
      reached = {acquired->server(), tuning_.probe(acquired->server(), complaint)};
    }
    if (!complaint.empty()) journal_.notice(complaint);
    return reached;
  } catch (...) {  // no memory
    return {server, nullptr};
  }
}

ReachedServer Decider::measured(std::size_t server) noexcept {
  ReachedServer reached = reach(server);
  if (reached.facts == nullptr || reached.facts->link().known()) return reached;
  try {
    const std::size_t most = kMostMeasurements * connections_.servers().size();
    if (measurements_.fetch_add(1, std::memory_order_relaxed) >= most) {
      reached.facts = nullptr;
      return reached;
    }
    const SetUp set_up(budget_);
    auto acquired = connections_.acquire();
    const bool is_same = acquired.ok() && acquired->server() == reached.server;
    if (is_same && connections_.measure(*acquired).ok()) tuning_.take_link(reached.server);
  } catch (...) {  // no memory: not measured
  }
  if (!reached.facts->link().known()) reached.facts = nullptr;
  return reached;
}

ReachedServer Decider::known_or_reached(std::size_t server, double local_s) noexcept {
  if (const ServerFacts* known = tuning_.server(server)) return {server, known};
  const bool worth = !config_.own_cores || local_s >= kWorthStartingS ||
                     local_runs_ns_.load(std::memory_order_relaxed) >= kWorthStartingNs;
  return worth ? reach(server) : ReachedServer{server, nullptr};
}

bool Decider::cannot_gain(const RoutineRecord& record, const ServerFacts* facts) const noexcept {
  const bool is_own = facts != nullptr ? facts->on_own_processors : config_.own_cores;
  if (!is_own) return false;
  const Library* library = record.library.load(std::memory_order_relaxed);
  if (library == nullptr) return false;
  const policy::LocalLibrary& local = library->local;
  const bool is_fft = record.name.starts_with("fftw");
  if (!is_well_kept(local, is_fft)) return false;
  // The rate of products does not depend on FFTW's threads, so it says nothing about transforms.
  const double peak = local.clock_hz * local.flop_per_cycle * local.threads;
  const double device = facts != nullptr ? facts->flop_per_s : peak_of_this_machine();
  return is_fft || !(kClearlyLess * peak < device);
}

policy::CallEstimate Decider::estimate(const CallQuery& call, std::size_t server,
                                       const ServerFacts& facts) noexcept {
  const policy::Work& work = call.work;
  const policy::RoutineRates& rates = call.record.rates;
  const policy::Accelerator accelerator{
      .link = facts.link(),
      .link_error = facts.link_from_profile() ? kErrorOfProfile : kErrorOfQuickLink,
      .shipped = shipped_there(call.record, facts)};
  const double waiting_s = facts.waiting_s(now_ns());
  policy::CallEstimate found;
  policy::estimate_local(rates, work, shipped_here(call.record, work.flop / work.calls),
                         found.estimate);
  policy::Work staying = work;
  staying.may_stay = work.may_stay && config_.resident_bytes != 0;
  policy::estimate_remote(rates, staying, accelerator, 0, waiting_s, found);
  // This needs a connection for a moment, so it is done only where the result may matter.
  const bool matters =
      found.now.whole_s > found.estimate.local_s && found.again.whole_s < found.estimate.local_s;
  if (matters && call.routine != nullptr) {
    const double there = residents_.bytes_on_device(server, *call.routine, call.arguments);
    if (there > 0) policy::estimate_remote(rates, staying, accelerator, there, waiting_s, found);
  }
  return found;
}

policy::Decision Decider::decide_freely(const CallQuery& call) noexcept {
  // Neither processor nor kernel is asked again.
  if (call.happens && call.record.never_gains.load(std::memory_order_relaxed)) {
    return {.state = State::settled};
  }
  if (call.record.library.load(std::memory_order_relaxed) == nullptr) {
    const SetUp set_up(budget_);
    load_profile(tuning_, journal_, call.record, call.library, nullptr);
  }
  policy::Estimate local;
  policy::estimate_local(call.record.rates, call.work,
                         shipped_here(call.record, call.work.flop / call.work.calls), local);
  policy::Decision unknown{.local_s = local.local_s, .local_error = local.local_error};
  if (!(local.local_s > 0)) return unknown;
  const auto preferred = connections_.preferred();
  if (!preferred) return unknown;
  const ServerFacts* const known = tuning_.server(*preferred);
  ReachedServer reached{*preferred, known};
  bool is_useless = cannot_gain(call.record, known);
  if (known == nullptr && !is_useless) {
    reached = known_or_reached(*preferred, local.local_s);
    if (reached.facts == nullptr) return unknown;
    is_useless = cannot_gain(call.record, reached.facts);
  }
  if (is_useless) {
    // After a failure, another server may be preferred.
    const bool is_final = connections_.servers().size() == 1;
    call.record.never_gains.store(is_final, std::memory_order_relaxed);
    journal_.report.set_reason(kOwnCores);
    unknown.state = State::settled;
    return unknown;
  }
  if (!reached.facts->link().known()) reached = measured(reached.server);
  if (reached.facts == nullptr) return unknown;
  load_profile(tuning_, journal_, call.record, nullptr, reached.facts);
  const policy::CallEstimate found = estimate(call, reached.server, *reached.facts);
  policy::History& history = call.record.history;
  return call.happens ? history.decide(found.estimate) : history.expect(found.estimate);
}

// Accuracy::strict promises one side for all calls of a routine.
policy::Decision Decider::decide(const CallQuery& call) noexcept {
  policy::Decision found = decide_freely(call);
  if (call.accuracy != Accuracy::strict || !call.happens) return found;
  std::atomic<StrictSide>& side = call.record.strict_side;
  const bool remote = found.target == Target::remote;
  StrictSide first = StrictSide::undecided;
  side.compare_exchange_strong(first, remote ? StrictSide::remote : StrictSide::local);
  if (first == StrictSide::undecided) return found;
  found.target = first == StrictSide::remote ? Target::remote : Target::local;
  found.state = State::settled;
  return found;
}

}  // namespace ob::offload
