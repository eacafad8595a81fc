#include "policy/history.hpp"

#include <algorithm>
#include <new>

namespace ob::policy {
namespace {

constexpr double kLongRunS = 5e-3;  // one run tells; shorter ones are still warming up
constexpr unsigned kShortRuns = 3;  // of which as many tell
// What the other side must gain for a change, where both were seen.
constexpr double kHysteresis = 1.03;
// A call over there that takes so many times the other side's, and is not the first one that may
// have brought operands, is a hiccup or a bad idea. A trial bears such calls for a moment: threads
// that slept wake up late on a machine that others use, too, and the calls after that are quick.
// Then it ends early. If the model disagrees only so many calls' time is charged for the first such
// end, four times as much for each further one in a row, and as many more calls pass before the
// next trial.
constexpr double kHopeless = 4.0;
constexpr double kPatienceS = 30e-3;
constexpr double kForgiving = 10.0;
constexpr unsigned kMostDoubts = 12;
constexpr double kClearGain = 0.95;

// Runs on one side tell what the next one takes.   @param expected_s 0: unknown
bool tells(const Samples& samples, double expected_s) noexcept {
  if (samples.count() >= kShortRuns) return true;
  const double seen_s = samples.median();
  return samples.count() > 0 &&
         (expected_s > 0 ? std::min(seen_s, expected_s) : seen_s) > kLongRunS;
}

unsigned least_between(unsigned doubts) noexcept {
  const unsigned calls = History::kLeastBetween << std::min(doubts - 1, 8U);
  return std::min(calls, History::kMostBetween);
}

// Calls of one trial: the first is not what the next ones are like.
constexpr unsigned kLocalTrial = 2;
unsigned trial_calls(double there_s) noexcept { return 1 + (there_s > kLongRunS ? 1 : kShortRuns); }

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

// Without trials.
Verdict History::compare(const Shape& shape, const Forecast& forecast) noexcept {
  Verdict found;
  const bool here_tells = tells(shape.here, forecast.here_s);
  found.here_seen = here_tells || (shape.here.count() > 0 && forecast.here_s <= 0);
  found.there_seen =
      tells(shape.there, forecast.there_s) || (shape.doubts > 0 && shape.there.count() > 0);
  found.here_s = found.here_seen ? shape.here.median() : forecast.here_s;
  found.there_s = found.there_seen ? shape.there.median() + forecast.waiting_s : forecast.there_s;
  if (!(found.here_s > 0) || (!here_tells && !(forecast.here_s > 0))) {
    found.choice = Choice::learn_local;
  } else if (found.there_s > 0) {
    // seen on both sides, a change must gain a little; otherwise the model needs its margin
    const bool seen = found.there_seen && found.here_seen;
    const double ahead = !seen                             ? forecast.margin
                         : shape.settled == Choice::remote ? 1 / kHysteresis
                                                           : kHysteresis;
    if (found.there_s * ahead < found.here_s) found.choice = Choice::remote;
  }
  return found;
}

bool History::is_worth_a_trial(const Shape& shape, const Forecast& forecast,
                               const Verdict& expected) const noexcept {
  if (!(expected.here_s > 0) || !(expected.there_s > 0)) return false;
  const bool stays = expected.choice == Choice::local;
  const bool is_new = shape.budget.spent_s <= 0;
  const bool usual_seen = (stays ? shape.here : shape.there).count() > 0;
  const bool other_seen =
      stays ? expected.there_seen && shape.doubts == 0 : tells(shape.here, forecast.here_s);
  const Budget& budget = is_new ? first_calls_ : shape.budget;
  if (!is_new && !usual_seen) return false;
  if ((is_new || other_seen) && budget.usual < budget.between) return false;
  if (shape.doubts > 0 && budget.usual < least_between(shape.doubts)) return false;
  const bool first = !is_new && !other_seen;
  const double share = !first                                  ? kTrialShare
                       : forecast.guessed && shape.doubts == 0 ? kGuessTrialShare
                                                               : kFirstTrialShare;
  double allowed = share * budget.spent_s - budget.lost_s;
  double cost = 0;
  if (!stays) {
    cost = kLocalTrial * std::max(0.0, expected.here_s - expected.there_s) +
           std::max(0.0, shape.there_first_s - expected.there_s);
  } else {
    // the second call finds the operands there, if calls use the same ones
    const double there_s = shape.doubts > 0 ? forecast.there_s : expected.there_s;
    const double again = other_seen      ? expected.there_s
                         : shape.repeats ? forecast.there_again_s
                                         : forecast.there_s;
    cost = std::max(0.0, there_s - expected.here_s) +
           (trial_calls(again) - 1) * std::max(0.0, again - expected.here_s);
    if (first && again < kClearGain * expected.here_s) allowed += shape.hoped_s;
  }
  return cost <= allowed;
}

void History::begin_trial(Shape& shape, const Verdict& verdict, const Forecast& forecast) noexcept {
  const bool remote = verdict.choice == Choice::remote;
  shape.promised = forecast.there_s < verdict.here_s;
  shape.trial_side = verdict.choice;
  shape.trial = (remote ? trial_calls(verdict.there_s) : kLocalTrial) - 1;
  shape.learns_there = remote;
  shape.trial_lost_s = 0;
}

// What one more call of a trial says of the device.   @param slow it took far longer than here
History::Finding History::look_at(Shape& shape, double own_s, double here_s, bool slow) noexcept {
  shape.trial_lost_s += std::max(0.0, own_s - here_s);
  const bool all_slow = shape.there.count() > 0 && shape.there.median() > kHopeless * here_s;
  if (slow && shape.trial_lost_s > kPatienceS) return Finding::hopeless;
  if (all_slow && own_s < here_s) {  // awake now: what came before does not count
    shape.there = {};
    shape.there.add(own_s);
    shape.trial = std::max(shape.trial, kShortRuns - 1);
  } else if (shape.trial == 0 && all_slow) {
    return Finding::hopeless;
  }
  return shape.trial > 0 ? Finding::goes_on : Finding::ended;
}

Verdict History::decide(const Forecast& forecast) noexcept {
  const std::lock_guard lock(mutex_);
  Shape* shape = find_or_make(forecast.shape);
  if (shape == nullptr) return compare(Shape{}, forecast);
  shape->repeats = shape->operands == forecast.operands;
  shape->operands = forecast.operands;
  Verdict verdict = compare(*shape, forecast);
  if (verdict.choice == Choice::learn_local) {
    shape->last = verdict;
    return verdict;
  }
  if (shape->settled == Choice::remote && verdict.choice == Choice::local && shape->doubts == 0 &&
      shape->there.median() > kHopeless * verdict.here_s && forecast.there_s < verdict.here_s) {
    shape->doubts = 1;  // quick until now: perhaps it is again, soon
    shape->budget.usual = 0;
  }
  if (shape->trial > 0 && verdict.there_s > 0) {
    --shape->trial;
    verdict.tried = verdict.choice != shape->trial_side;
    verdict.choice = shape->trial_side;
  } else if (is_worth_a_trial(*shape, forecast, verdict)) {
    verdict.tried = true;
    shape->lost_before_s = shape->budget.lost_s;
    shape->budget.between = std::min(2 * shape->budget.between, kMostBetween);
    if (shape->doubts > 0) shape->there = {};
    verdict.choice = verdict.choice == Choice::local ? Choice::remote : Choice::local;
    shape->hoped_s = 0;
    begin_trial(*shape, verdict, forecast);
  } else {
    if (shape->settled != verdict.choice) shape->budget.between = kLeastBetween;
    shape->settled = verdict.choice;
    // what is new over there is not judged by its first call
    if (verdict.choice == Choice::remote && shape->there.count() == 0)
      begin_trial(*shape, verdict, forecast);
    if (verdict.choice == Choice::local && shape->repeats && forecast.there_again_s > 0) {
      shape->hoped_s += std::max(0.0, verdict.here_s - forecast.there_again_s);
    }
  }
  shape->last = verdict;
  return verdict;
}

Verdict History::expect(const Forecast& forecast) const noexcept {
  const std::lock_guard lock(mutex_);
  const Shape* shape = find(forecast.shape);
  return shape == nullptr ? compare(Shape{}, forecast) : compare(*shape, forecast);
}

Outcome History::ran(std::uint64_t key, Choice where, double seconds, double waited_s) noexcept {
  Outcome outcome;
  const std::lock_guard lock(mutex_);
  auto* shape = const_cast<Shape*>(find(key));
  if (shape == nullptr) return outcome;
  const Verdict expected = shape->last;
  const bool remote = where == Choice::remote;
  const double own_s = remote ? std::max(seconds - waited_s, 0.0) : seconds;
  const bool may_bring = !shape->was_remote && shape->repeats;
  const bool slow = remote && !may_bring && own_s > kHopeless * expected.here_s;
  if (!remote) {
    if (!shape->was_remote || shape->here.count() == 0) shape->here.add(own_s);
  } else if (shape->was_remote || slow) {
    shape->there.add(own_s);
  } else {
    shape->there_first_s = own_s;
  }
  const Finding finding = remote && shape->learns_there && expected.here_s > 0
                              ? look_at(*shape, own_s, expected.here_s, slow)
                              : Finding::goes_on;
  outcome.first = remote && !shape->was_remote;
  shape->was_remote = remote;
  const double other_s = remote ? expected.here_s : expected.there_s;
  const double usual_s = remote ? expected.there_s : expected.here_s;
  const bool as_decided = (expected.choice == Choice::remote) == remote;
  outcome.judged = as_decided && expected.here_s > 0 && expected.there_s > 0;
  outcome.tried = outcome.judged && expected.tried;
  const double over_s = std::max(0.0, seconds - other_s);
  Budget& budget = shape->budget;
  // the first one back after a trial may find its memory cold: the trial's fault
  const bool first_back = !outcome.tried && budget.usual == 0 && budget.spent_s > 0;
  double lost_s = first_back ? std::max(0.0, seconds - usual_s) : 0;
  if (outcome.tried) lost_s = over_s;
  if (!outcome.judged) lost_s = 0;
  if (budget.spent_s <= 0) first_calls_.charge(seconds, outcome.tried, lost_s);
  budget.charge(seconds, outcome.tried, lost_s);
  if (finding == Finding::hopeless) shape->trial = 0;
  if (finding == Finding::hopeless && shape->promised) {
    shape->doubts = std::min(shape->doubts + 1, kMostDoubts);
    const double most_s =
        kForgiving * expected.here_s * static_cast<double>(1U << 2 * (shape->doubts - 1));
    budget.lost_s = std::min(budget.lost_s, shape->lost_before_s + most_s);
  } else if (finding != Finding::goes_on || (remote && !shape->learns_there)) {
    shape->doubts = 0;
  }
  if (finding != Finding::goes_on) shape->learns_there = false;
  if (!outcome.judged) return outcome;
  outcome.mispredicted = seconds > kMispredicted * other_s;
  outcome.lost_s = outcome.mispredicted ? over_s : 0;
  return outcome;
}

}  // namespace ob::policy
