#include "offload/decide.hpp"

#include <algorithm>
#include <string>

#include "offload/clock.hpp"
#include "offload/own_daemon.hpp"
#include "offload/profiles.hpp"

namespace ob::offload {
namespace {

using policy::State;
using policy::Target;

// The error of a measured link: of one that `outboard tune` measured for seconds, and of the quick
// measurement on connecting.
constexpr double kErrorOfProfile = 1.1;
constexpr double kErrorOfQuickLink = 1.3;

// Small operands and those that a call replaces are sent again each time.
constexpr double kMostOfThem = 0.5;

constexpr std::string_view kOwnCores =
    "the accelerator computes on this machine's own cores, and the program's library is as fast";

constexpr std::string_view kTooLittle =
    "the pool was not asked for devices: long calls took less than 1 s within 10 s";

double now_s() noexcept { return 1e-9 * static_cast<double>(now_ns()); }

constexpr std::string_view kNoDevice = "the pool gave no device";

// Library of routines of this kind that gains nothing from another one on the same cores. The
// reference LAPACK over a tuned BLAS is as fast as the LAPACK of OpenBLAS (docs/decision.md).
bool is_well_kept(const policy::LocalLibrary& library, bool is_fft) noexcept {
  using policy::LibraryKind;
  if (is_fft) return library.kind == LibraryKind::fftw;
  return library.kind == LibraryKind::tuned || library.kind == LibraryKind::reference_lapack;
}

}  // namespace

void Decider::add_local_run(std::uint64_t ns) noexcept {
  // Shorter calls keep their side, so a daemon that starts now comes too late for them.
  constexpr auto kShortNs = static_cast<std::uint64_t>(1e9 * policy::History::kShortS);
  if (ns < kShortNs) return;
  long_runs_ns_.fetch_add(ns, std::memory_order_relaxed);
  if (config_.takes_lease()) demand_.add(1e-9 * static_cast<double>(ns), now_s());
}

// A daemon on the own cores starts with the first connection, and a pool gives devices.
bool Decider::is_worth_connecting(const RoutineRecord& record, double local_s) const noexcept {
  if (config_.takes_lease()) {
    const bool is_long = local_s >= policy::History::kShortS;
    return is_long && demand_.is_worth(local_s, now_s());
  }
  if (!config_.own_cores) return true;
  const Library* library = record.library.load(std::memory_order_relaxed);
  const double long_s = 1e-9 * static_cast<double>(long_runs_ns_.load(std::memory_order_relaxed));
  return local_s >= policy::History::kShortS &&
         is_worth_starting(long_s + local_s, library != nullptr ? &library->local : nullptr,
                           own_daemon_rate(config_.own_kernels));
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
  const double device = facts != nullptr ? facts->flop_per_s : own_daemon_rate(config_.own_kernels);
  return is_fft || !(kClearlyLess * peak_of(local) < device);
}

policy::CallEstimate Decider::estimate(const CallQuery& call, std::size_t server,
                                       const ServerFacts& facts) noexcept {
  const policy::Work& work = call.work;
  const policy::RoutineRates& rates = call.record.rates;
  const policy::Accelerator accelerator{
      .link = facts.link(),
      .link_error = facts.link_from_profile() ? kErrorOfProfile : kErrorOfQuickLink,
      .shipped = shipped_there(call.record, facts, work.flop / work.calls),
      .fresh_bytes = facts.fresh_bytes(work)};
  const double waiting_s = facts.waiting_s(now_ns());
  policy::CallEstimate found;
  policy::estimate_local(rates, work, shipped_here(call.record, work.flop / work.calls),
                         most_here(call.record), found.estimate);
  policy::Work staying = work;
  staying.may_stay = work.may_stay && config_.resident_bytes != 0;
  const double again = work.bytes_to * call.record.history.repeated_part(work.shape, work.operands);
  policy::estimate_remote(rates, staying, accelerator, 0, again, waiting_s, found);
  // This needs a connection for a moment, so it is done only where the result may matter.
  const bool matters =
      found.now.whole_s > found.estimate.local_s && found.again.whole_s < found.estimate.local_s;
  if (matters && call.routine != nullptr) {
    const double there = residents_.bytes_on_device(server, *call.routine, call.arguments);
    if (there > 0) {
      policy::estimate_remote(rates, staying, accelerator, there, std::max(again, there), waiting_s,
                              found);
    }
    found.estimate.brings = there < kMostOfThem * work.bytes_to;
  }
  return found;
}

policy::Decision Decider::never_gains(RoutineRecord& record) noexcept {
  // After a failure, another server may be preferred.
  const bool is_final = connections_.most_servers() == 1;
  record.never_gains.store(is_final, std::memory_order_relaxed);
  journal_.report.set_reason(kOwnCores);
  return {.state = State::settled};
}

policy::Decision Decider::decide_freely(const CallQuery& call) noexcept {
  // Neither processor nor kernel is asked again.
  if (call.happens && call.record.never_gains.load(std::memory_order_relaxed)) {
    return {.state = State::settled};
  }
  policy::History& history = call.record.history;
  if (call.happens) {
    if (const auto staying = history.staying(call.work.shape)) return *staying;
  }
  if (call.record.library.load(std::memory_order_relaxed) == nullptr) {
    const std::uint64_t began_ns = now_ns();
    load_profile(tuning_, journal_, call.record, call.library, nullptr);
    budget_.set_up(seconds_since(began_ns));
  }
  policy::Estimate local;
  policy::estimate_local(call.record.rates, call.work,
                         shipped_here(call.record, call.work.flop / call.work.calls),
                         most_here(call.record), local);
  policy::Decision unknown{.local_s = local.local_s, .local_error = local.local_error};
  if (!(local.local_s > 0)) return unknown;
  const auto preferred = connections_.preferred();
  if (!preferred) return unknown;
  const ServerFacts* const known = tuning_.server(*preferred);
  if (cannot_gain(call.record, known)) return never_gains(call.record);
  if (!connections_.is_reached(*preferred)) {
    const bool is_worth = is_worth_connecting(call.record, local.local_s);
    if (config_.takes_lease()) journal_.report.set_reason(is_worth ? kNoDevice : kTooLittle);
    if (!is_worth) return unknown;
  }
  ReachedServer reached = connector_.reach_in_background(*preferred, Need::facts, local.local_s);
  if (reached.facts == nullptr) return unknown;
  if (cannot_gain(call.record, reached.facts)) return never_gains(call.record);
  reached = connector_.reach_in_background(reached.server, Need::link, local.local_s);
  if (reached.facts == nullptr) return unknown;
  load_profile(tuning_, journal_, call.record, nullptr, reached.facts);
  const policy::CallEstimate found = estimate(call, reached.server, *reached.facts);
  if (call.happens && !reached.facts->link_from_profile())
    connector_.measure_again(reached.server, budget_.spent_s());
  if (call.happens) connector_.renew_lease();
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
