#include "policy/history.hpp"

#include <algorithm>
#include <new>

#include "policy/long_run.hpp"

namespace ob::policy {
namespace {

constexpr unsigned kShortRuns = 3;  // this many short runs are enough
// The gain that a change of sides needs if both sides were measured.
constexpr double kHysteresis = 1.03;
// A remote call is slow if it takes this many times the local time and is not the first one, which
// may have brought operands. The reason is a short disturbance, or it is permanent. A trial accepts
// slow calls for kSlowTrialS: on a machine with other users, sleeping threads wake up late, and the
// calls after that are quick. Then the trial ends early, and has failed. If the model predicts a
// gain, the first failed trial is charged only the time of kChargedCalls local calls. Each further
// failed trial in a row is charged four times as much, and as many more calls pass before the next
// trial.
constexpr double kSlow = 4.0;
constexpr double kSlowTrialS = 30e-3;
constexpr double kChargedCalls = 10.0;
constexpr unsigned kMostFailedTrials = 12;
constexpr double kClearGain = 0.95;

// Returns true if the runs on one side predict the next one.   @param expected_s 0: unknown
bool tells(const Samples& samples, double expected_s) noexcept {
  if (samples.count() >= kShortRuns) return true;
  const double seen_s = samples.median();
  return samples.count() > 0 &&
         (expected_s > 0 ? std::min(seen_s, expected_s) : seen_s) > kLongRunS;
}

unsigned least_between(unsigned failed_trials) noexcept {
  const unsigned calls = History::kLeastBetween << std::min(failed_trials - 1, 8U);
  return std::min(calls, History::kMostBetween);
}

// The number of calls of one trial. The first of them differs from the others.
constexpr unsigned kLocalTrial = 2;
unsigned trial_calls(double remote_s) noexcept {
  return 1 + (remote_s > kLongRunS ? 1 : kShortRuns);
}

}  // namespace

void Samples::add(double seconds) noexcept {
  seconds_[next_] = static_cast<float>(seconds);
  next_ = (next_ + 1) % kKept;
  count_ = std::min(count_ + 1, kKept);
}

double Samples::median() const noexcept {
  if (count_ == 0) return 0;
  std::array<float, kKept> sorted = seconds_;
  const auto middle = sorted.begin() + (count_ - 1) / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count_);
  return static_cast<double>(*middle);
}

const History::Shape* History::find(std::uint64_t key) const noexcept {
  if (shapes_ == nullptr) return nullptr;
  const auto at = std::find_if(shapes_->begin(), shapes_->end(),
                               [&](const Shape& shape) { return shape.key == key; });
  return at == shapes_->end() ? nullptr : &*at;
}

History::Shape* History::find_or_make(std::uint64_t key) noexcept {
  if (shapes_ == nullptr) {
    shapes_.reset(new (std::nothrow) std::array<Shape, kShapes>);
    if (shapes_ == nullptr) return nullptr;
  }
  auto* shape = const_cast<Shape*>(find(key));
  if (shape == nullptr) {
    shape = &*std::min_element(shapes_->begin(), shapes_->end(),
                               [](const Shape& a, const Shape& b) { return a.used < b.used; });
    *shape = Shape{};
    shape->key = key;
  }
  shape->used = ++calls_;
  return shape;
}

// Returns the decision without trials.
Decision History::compare(const Shape& shape, const Estimate& estimate) noexcept {
  Decision found;
  const bool local_tells = tells(shape.local, estimate.local_s);
  found.local_seen = local_tells || (shape.local.count() > 0 && estimate.local_s <= 0);
  found.remote_seen = tells(shape.remote, estimate.remote_s) ||
                      (shape.failed_trials > 0 && shape.remote.count() > 0);
  found.local_s = found.local_seen ? shape.local.median() : estimate.local_s;
  found.remote_s =
      found.remote_seen ? shape.remote.median() + estimate.waiting_s : estimate.remote_s;
  if (!(found.local_s > 0) || (!local_tells && !(estimate.local_s > 0))) {
    found.target = Target::learn_local;
  } else if (found.remote_s > 0) {
    // if both sides were measured, a change needs a small gain; otherwise the model needs its
    // margin
    const bool seen = found.remote_seen && found.local_seen;
    const double ahead = !seen                             ? estimate.margin
                         : shape.settled == Target::remote ? 1 / kHysteresis
                                                           : kHysteresis;
    if (found.remote_s * ahead < found.local_s) found.target = Target::remote;
  }
  return found;
}

// Returns the time of the second remote call of a trial: it finds the operands on the device, if
// calls use the same ones.
double History::next_remote_s(const Shape& shape, const Estimate& estimate,
                              const Decision& expected, bool other_seen) noexcept {
  if (other_seen) return expected.remote_s;
  return shape.repeats ? estimate.remote_again_s : estimate.remote_s;
}

// Returns the expected cost of a trial, compared with no trial.
double History::trial_cost(const Shape& shape, const Estimate& estimate, const Decision& expected,
                           bool other_seen) noexcept {
  const double local_s = expected.local_s;
  if (expected.target != Target::local) {
    return kLocalTrial * std::max(0.0, local_s - expected.remote_s) +
           std::max(0.0, shape.remote_first_s - expected.remote_s);
  }
  const double remote_s = shape.failed_trials > 0 ? estimate.remote_s : expected.remote_s;
  const double again_s = next_remote_s(shape, estimate, expected, other_seen);
  return std::max(0.0, remote_s - local_s) +
         (trial_calls(again_s) - 1) * std::max(0.0, again_s - local_s);
}

// Returns the most that a trial may cost.   @param first the other side was never measured
double History::trial_allowance(const Shape& shape, const Estimate& estimate,
                                const Decision& expected, bool first) const noexcept {
  const bool is_new = shape.budget.spent_s <= 0;
  const Budget& budget = is_new ? first_calls_ : shape.budget;
  if (!first) return kTrialShare * budget.spent_s - budget.lost_s;
  const bool guess = estimate.guessed && shape.failed_trials == 0;
  const double share = guess ? kGuessTrialShare : kFirstTrialShare;
  const double allowed = share * budget.spent_s - budget.lost_s;
  if (expected.target != Target::local) return allowed;
  const double again_s = next_remote_s(shape, estimate, expected, false);
  const bool gains = again_s < kClearGain * expected.local_s;
  return gains ? allowed + shape.expected_saving_s : allowed;
}

bool History::is_worth_a_trial(const Shape& shape, const Estimate& estimate,
                               const Decision& expected) const noexcept {
  if (!(expected.local_s > 0) || !(expected.remote_s > 0)) return false;
  const bool stays = expected.target == Target::local;
  const bool is_new = shape.budget.spent_s <= 0;
  const bool usual_seen = (stays ? shape.local : shape.remote).count() > 0;
  const bool failed = shape.failed_trials > 0;
  const bool other_seen =
      stays ? expected.remote_seen && !failed : tells(shape.local, estimate.local_s);
  const Budget& budget = is_new ? first_calls_ : shape.budget;
  if (!is_new && !usual_seen) return false;
  if ((is_new || other_seen) && budget.usual < budget.between) return false;
  if (failed && budget.usual < least_between(shape.failed_trials)) return false;
  return trial_cost(shape, estimate, expected, other_seen) <=
         trial_allowance(shape, estimate, expected, !is_new && !other_seen);
}

// The next calls run on the decision's side, and are judged together.
void History::plan_trial(Shape& shape, const Decision& decision,
                         const Estimate& estimate) noexcept {
  const bool remote = decision.target == Target::remote;
  shape.predicted_gain = estimate.remote_s < decision.local_s;
  shape.trial_side = decision.target;
  shape.trial = (remote ? trial_calls(decision.remote_s) : kLocalTrial) - 1;
  shape.learns_remote = remote;
  shape.trial_lost_s = 0;
}

// Reverses the decision.
void History::begin_trial(Shape& shape, Decision& decision, const Estimate& estimate) noexcept {
  decision.tried = true;
  shape.lost_before_s = shape.budget.lost_s;
  shape.budget.between = std::min(2 * shape.budget.between, kMostBetween);
  if (shape.failed_trials > 0) shape.remote = {};
  decision.target = decision.target == Target::local ? Target::remote : Target::local;
  shape.expected_saving_s = 0;
  plan_trial(shape, decision, estimate);
}

// Remote calls that were quick until now and have become slow may soon be quick again.
void History::notice_slowdown(Shape& shape, const Decision& decision,
                              const Estimate& estimate) noexcept {
  const bool turned = shape.settled == Target::remote && decision.target == Target::local;
  if (!turned || shape.failed_trials > 0) return;
  if (shape.remote.median() > kSlow * decision.local_s && estimate.remote_s < decision.local_s) {
    shape.failed_trials = 1;
    shape.budget.usual = 0;
  }
}

void History::settle(Shape& shape, const Decision& decision, const Estimate& estimate) noexcept {
  if (shape.settled != decision.target) shape.budget.between = kLeastBetween;
  shape.settled = decision.target;
  if (decision.target == Target::remote) {
    // The first remote call of a shape does not predict the next ones.
    if (shape.remote.count() == 0) plan_trial(shape, decision, estimate);
  } else if (shape.repeats && estimate.remote_again_s > 0) {
    shape.expected_saving_s += std::max(0.0, decision.local_s - estimate.remote_again_s);
  }
}

Decision History::decide(const Estimate& estimate) noexcept {
  const std::lock_guard lock(mutex_);
  Shape* shape = find_or_make(estimate.shape);
  if (shape == nullptr) return compare(Shape{}, estimate);
  shape->repeats = shape->operands == estimate.operands;
  shape->operands = estimate.operands;
  Decision decision = compare(*shape, estimate);
  if (decision.target != Target::learn_local) {
    notice_slowdown(*shape, decision, estimate);
    if (shape->trial > 0 && decision.remote_s > 0) {
      --shape->trial;
      decision.tried = decision.target != shape->trial_side;
      decision.target = shape->trial_side;
    } else if (is_worth_a_trial(*shape, estimate, decision)) {
      begin_trial(*shape, decision, estimate);
    } else {
      settle(*shape, decision, estimate);
    }
  }
  shape->last = decision;
  return decision;
}

Decision History::expect(const Estimate& estimate) const noexcept {
  const std::lock_guard lock(mutex_);
  const Shape* shape = find(estimate.shape);
  return shape == nullptr ? compare(Shape{}, estimate) : compare(*shape, estimate);
}

void History::add_sample(Shape& shape, const Ended& call) noexcept {
  if (!call.remote) {
    if (!shape.was_remote || shape.local.count() == 0) shape.local.add(call.own_s);
  } else if (shape.was_remote || call.slow) {
    shape.remote.add(call.own_s);
  } else {
    shape.remote_first_s = call.own_s;
  }
}

// Judges the device by one more remote call of a trial.
History::Finding History::judge_trial(Shape& shape, const Ended& call) noexcept {
  const double local_s = shape.last.local_s;
  if (!call.remote || !shape.learns_remote || !(local_s > 0)) return Finding::goes_on;
  shape.trial_lost_s += std::max(0.0, call.own_s - local_s);
  const bool all_slow = shape.remote.count() > 0 && shape.remote.median() > kSlow * local_s;
  if (call.slow && shape.trial_lost_s > kSlowTrialS) return Finding::failed;
  if (all_slow && call.own_s < local_s) {  // awake now: earlier calls do not count
    shape.remote = {};
    shape.remote.add(call.own_s);
    shape.trial = std::max(shape.trial, kShortRuns - 1);
  } else if (shape.trial == 0 && all_slow) {
    return Finding::failed;
  }
  return shape.trial > 0 ? Finding::goes_on : Finding::ended;
}

Observation History::judge(const Shape& shape, const Ended& call) noexcept {
  const Decision& expected = shape.last;
  Observation observation;
  observation.first = call.remote && !shape.was_remote;
  const bool as_decided = (expected.target == Target::remote) == call.remote;
  observation.judged = as_decided && expected.local_s > 0 && expected.remote_s > 0;
  if (!observation.judged) return observation;
  observation.tried = expected.tried;
  const double other_s = call.remote ? expected.local_s : expected.remote_s;
  observation.mispredicted = call.seconds > kMispredicted * other_s;
  if (observation.mispredicted) observation.lost_s = std::max(0.0, call.seconds - other_s);
  return observation;
}

// Charges the call to the budgets, with its extra cost if it belongs to a trial.
void History::charge(Shape& shape, const Ended& call, const Observation& observation) noexcept {
  const Decision& expected = shape.last;
  Budget& budget = shape.budget;
  // The first usual call after a trial may find its memory cold, because of the trial.
  const bool first_back = !observation.tried && budget.usual == 0 && budget.spent_s > 0;
  double compared_s = call.seconds;
  if (observation.tried) {
    compared_s = call.remote ? expected.local_s : expected.remote_s;
  } else if (first_back) {
    compared_s = call.remote ? expected.remote_s : expected.local_s;
  }
  const double lost_s = observation.judged ? std::max(0.0, call.seconds - compared_s) : 0;
  if (budget.spent_s <= 0) first_calls_.charge(call.seconds, observation.tried, lost_s);
  budget.charge(call.seconds, observation.tried, lost_s);
}

void History::end_trial(Shape& shape, Finding finding, bool remote) noexcept {
  if (finding == Finding::failed) shape.trial = 0;
  if (finding == Finding::failed && shape.predicted_gain) {
    shape.failed_trials = std::min(shape.failed_trials + 1, kMostFailedTrials);
    const double most_s = kChargedCalls * shape.last.local_s *
                          static_cast<double>(1U << 2 * (shape.failed_trials - 1));
    shape.budget.lost_s = std::min(shape.budget.lost_s, shape.lost_before_s + most_s);
  } else if (finding != Finding::goes_on || (remote && !shape.learns_remote)) {
    shape.failed_trials = 0;
  }
  if (finding != Finding::goes_on) shape.learns_remote = false;
}

Observation History::observe(std::uint64_t key, Target where, double seconds,
                             double waited_s) noexcept {
  const std::lock_guard lock(mutex_);
  auto* shape = const_cast<Shape*>(find(key));
  if (shape == nullptr) return {};
  Ended call;
  call.remote = where == Target::remote;
  call.seconds = seconds;
  call.own_s = call.remote ? std::max(seconds - waited_s, 0.0) : seconds;
  const bool may_bring = !shape->was_remote && shape->repeats;
  call.slow = call.remote && !may_bring && call.own_s > kSlow * shape->last.local_s;
  add_sample(*shape, call);
  const Finding finding = judge_trial(*shape, call);
  const Observation observation = judge(*shape, call);
  shape->was_remote = call.remote;
  charge(*shape, call, observation);
  end_trial(*shape, finding, call.remote);
  return observation;
}

}  // namespace ob::policy
