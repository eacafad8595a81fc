#include "policy/history.hpp"

#include <algorithm>
#include <new>

#include "base/arithmetic.hpp"

namespace ob::policy {
namespace {

constexpr unsigned kEnough = 3;  // this many short runs tell; one long run does
// A change of sides needs this gain even if both sides were measured: medians of a few runs of the
// same call differ by some per cent on a machine with neighbours.
constexpr double kErrorOfSamples = 1.03;
// A program that compares equal calls makes two or three of them. Later ones belong to a loop. Long
// calls are not repeated for comparison.
constexpr unsigned kCompared = 4;
constexpr double kLongS = 50e-3;
// The first run brings the operands, the second one finds them on the device.
constexpr unsigned kTrials = 2;
// One call in ten is further from its prediction than the error says; few are this much further.
constexpr double kDoubted = 1.25;
// Calls whose operands are mostly new take the same time each time.
constexpr double kMostOfThem = 0.5;
// Shapes that are doubtful each for itself may be wrong together.
constexpr double kMostAtRisk = 2;
// Operands that change at each call are brought in vain, and those that were not complete at first
// are brought again.
constexpr unsigned kMostPrepared = 2;
// A price is paid if the calls that pay it back are few beside those that the loop has made. Most
// loops that made so many make as many again.
constexpr unsigned kEstablished = 8;
constexpr double kPayBackShare = 0.25;
// A price and all that is lost so far, in seconds and in parts of the time in calls.
constexpr double kMostPriceS = 5e-3;
constexpr double kMostPriceShare = 0.02;
// Shapes that stay here for good get a new estimate, which takes about 1 us, once in so many calls.
constexpr unsigned kEstimated = 32;
// Shapes of which neither side is much better are not worth a trial.
constexpr double kWorthTrying = 1.05;

// True if the runs on one side predict the next one.
bool tells(const Samples& samples) noexcept {
  return samples.count() >= kEnough || (samples.count() > 0 && samples.median() > History::kShortS);
}

// Returns the part of the operands that are also among `others`.
double part_of(const OperandMemories& operands, const OperandMemories& others) noexcept {
  double all = 0;
  double known = 0;
  for (const OperandMemory& operand : operands) {
    all += operand.bytes;
    const bool is_known =
        std::any_of(others.begin(), others.end(), [&](const OperandMemory& other) {
          return other.address == operand.address && operand.address != 0;
        });
    known += is_known ? operand.bytes : 0;
  }
  return all > 0 ? known / all : 0;
}

}  // namespace

std::string_view name_of(State state) noexcept {
  switch (state) {
    case State::unknown: return "unknown";
    case State::model: return "model";
    case State::trial: return "trial";
    case State::settled: return "settled";
  }
  return "";
}

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

struct History::Times {
  double local_s = 0;
  double remote_s = 0;  // the next call
  double warm_s = 0;    // the next call, in memory that was used before
  double again_s = 0;   // the calls after it
  double local_error = 1;
  double local_least_s = 0;
  double remote_error = 1;
  double again_error = 1;
  double waiting_s = 0;
  bool local_seen = false;
  bool remote_seen = false;

  bool known() const noexcept { return local_s > 0 && remote_s > 0; }
  /// The time of the next remote call if the prediction is wrong by twice its error.
  double worst_remote_s() const noexcept { return remote_s * remote_error * remote_error; }
  /// The time of a local call if the prediction is wrong by twice its error.
  double least_local_s() const noexcept {
    return std::max(local_s / (local_error * local_error), local_least_s);
  }
  /// The factor by which the ratio of both sides may be wrong, after the next call.
  double error() const noexcept {
    const double here = local_error - 1;
    const double there = again_error - 1;
    return 1 + square_root(here * here + there * there);
  }
};

void History::Shape::meet(const Estimate& estimate) noexcept {
  repeats = part_of(estimate.operands, operands) >= kMostOfThem;
  brings = repeats && (!was_remote || estimate.brings);
}

const History::Shape* History::find(std::uint64_t key) const noexcept {
  if (shapes_ == nullptr) return nullptr;
  const Shape* const first = &(*shapes_)[set_of(key)];
  const Shape* const end = first + kWays;
  const Shape* const at = std::find_if(first, end, [&](const Shape& s) { return s.key == key; });
  return at == end ? nullptr : at;
}

History::Shape* History::find_or_make(std::uint64_t key) noexcept {
  if (shapes_ == nullptr) {
    shapes_.reset(new (std::nothrow) std::array<Shape, kSets * kWays>);
    if (shapes_ == nullptr) return nullptr;
  }
  auto* shape = const_cast<Shape*>(find(key));
  if (shape == nullptr) {
    Shape* const first = &(*shapes_)[set_of(key)];
    shape = std::min_element(first, first + kWays,
                             [](const Shape& a, const Shape& b) { return a.used < b.used; });
    *shape = Shape{};
    shape->key = key;
  }
  shape->used = ++calls_;
  return shape;
}

// Measured times replace predictions.
History::Times History::times_of(const Shape& shape, const Estimate& estimate) noexcept {
  Times times;
  times.local_s = estimate.local_s;
  times.local_error = estimate.local_error;
  times.local_least_s = estimate.local_least_s;
  times.remote_s = estimate.remote_s;
  times.warm_s = estimate.remote_warm_s > 0 ? estimate.remote_warm_s : estimate.remote_s;
  times.again_s = shape.repeats ? estimate.remote_again_s : times.warm_s;
  times.remote_error = times.again_error = estimate.remote_error;
  times.waiting_s = estimate.waiting_s;
  // One warm run may still have had cold memory.
  times.local_seen = tells(shape.local) && shape.local.count() > 1;
  if (times.local_seen) {
    times.local_s = shape.local.median();
    times.local_error = kErrorOfSamples;
  }
  // Without a prediction there is no accelerator now.
  times.remote_seen = tells(shape.remote) && estimate.remote_s > 0;
  if (times.remote_seen) {
    times.again_s = shape.remote.median() + estimate.waiting_s;
    // A call that brings operands takes no less than one that finds them there.
    times.remote_s = shape.brings ? std::max(times.remote_s, times.again_s) : times.again_s;
    times.again_error = kErrorOfSamples;
    if (!shape.brings) times.remote_error = kErrorOfSamples;
  }
  // Operands that others displaced take as long to bring as the last time.
  if (shape.brings && estimate.remote_s > 0)
    times.remote_s = std::max(times.remote_s, shape.brought_s + estimate.waiting_s);
  return times;
}

// True if a mistake of twice the error fits into the budget.
bool History::is_affordable(const Times& times) const noexcept {
  if (budget_.is_overdrawn()) return false;
  const double worst_s = times.worst_remote_s();
  const double local_s = std::max(times.local_s / times.local_error, times.local_least_s);
  return worst_s <= local_s || worst_s - local_s + at_risk_s_ <= budget_.left_s();
}

// True if the calls gain on the accelerator beyond the error. If only those after the next one do,
// the price of the next one must be affordable, too.
bool History::gains(const Times& times) const noexcept {
  const double later_s = std::min(times.remote_s, times.again_s);
  return later_s * times.error() < times.local_s && is_affordable(times);
}

// True if the next call is expected to gain, and those after it would gain even if both predictions
// were wrong by twice their error.
bool History::surely_gains(const Times& times) const noexcept {
  const double later_s = std::min(times.remote_s, times.again_s);
  const double worst_s = later_s * times.again_error * times.again_error;
  return times.remote_s < times.local_s && worst_s < times.least_local_s() && is_affordable(times);
}

// True if the next call costs more than it gains, and a few calls after it pay this back.
bool History::pays_back(const Shape& shape, const Times& times) const noexcept {
  const double gain_s = times.local_s - times.again_s * times.error();
  if (!(gain_s > 0) || !times.local_seen || shape.calls < kEstablished) return false;
  const double price_s = times.worst_remote_s() - times.local_s;
  const double most_s = kMostPriceS + kMostPriceShare * budget_.spent_s();
  // Other mistakes leave less for prices.
  const double lost_s = std::max(unpaid_s_, budget_.lost_s());
  return price_s <= kPayBackShare * shape.calls * gain_s && price_s + lost_s <= most_s;
}

bool History::may_try(const Shape& shape, const Times& times) const noexcept {
  const double later_s = std::min(times.remote_s, times.again_s);
  const bool may_gain = later_s < times.error() * times.local_s / kWorthTrying;
  return may_gain && !times.remote_seen && shape.trials < kTrials &&
         times.worst_remote_s() <= budget_.left_s();
}

bool History::needs_operands(const Shape& shape, const Times& times) noexcept {
  const bool gains = times.again_s * times.error() < times.local_s;
  return gains && shape.repeats && shape.prepared < kMostPrepared;
}

// True if only new memory makes the call too slow. Other shapes gain from used memory, too.
bool History::needs_memory(const Shape& shape, const Times& times) noexcept {
  const bool gains = times.warm_s * times.error() < times.local_s;
  return gains && times.warm_s * kWorthTrying < times.remote_s && shape.warmed < kMostPrepared;
}

// One slow call may be a disturbance.
bool History::is_measured(const Shape& shape, const Times& times) noexcept {
  return times.remote_seen && shape.remote.count() > 1;
}

// True if the calls are slower on the accelerator than here, or may be, by more than the program
// may lose.
bool History::loses(const Shape& shape, const Times& times) const noexcept {
  const double left_s = std::max(budget_.left_s(), 0.0);
  // Operands that the device has lost must be brought again.
  const double next_s = times.remote_s - times.waiting_s;
  if (next_s - times.local_s > left_s && !pays_back(shape, times)) return true;
  const double ahead = times.local_seen ? 1 / kErrorOfSamples : 1;
  const double own_s = shape.remote.median();
  if (is_measured(shape, times) && own_s * ahead > times.local_s) return true;
  // A disturbance says nothing against an accelerator whose usual time is below any local one.
  const bool is_proven =
      is_measured(shape, times) && own_s * kErrorOfSamples < times.least_local_s();
  const bool at_risk = !is_proven && (shape.at_risk_s > left_s ||
                                      (shape.at_risk_s > 0 && at_risk_s_ > kMostAtRisk * left_s));
  // A single call that was not slower than expected here may still have met a disturbance.
  if (at_risk && (shape.slow > 0 || shape.remote.count() > 1)) return true;
  return shape.slow >= kEnough;
}

void History::move(Shape& shape, Target side) const noexcept {
  shape.side = side;
  shape.fresh = true;
  shape.slow = 0;
  shape.at_risk_s = 0;
  ++shape.changes;
}

Decision History::choose(Shape& shape, const Times& times) const noexcept {
  Decision found{.local_s = times.local_s,
                 .remote_s = times.remote_s,
                 .local_error = times.local_error,
                 .local_least_s = times.local_least_s,
                 .remote_error = times.remote_error,
                 .local_seen = times.local_seen,
                 .remote_seen = times.remote_seen};
  if (!times.known()) return found;
  found.state = State::model;
  // A prediction may take a short call for a long one. A single measured run knows better.
  const double usual_s = shape.local.count() > 0 ? shape.local.median() : times.local_s;
  const bool is_short = usual_s < kShortS;
  if (!shape.decided) {
    shape.decided = true;
    const bool leaves = is_short ? surely_gains(times) : gains(times);
    shape.side = leaves ? Target::remote : Target::local;
    shape.fresh = true;
  } else if (shape.side == Target::remote) {
    if (loses(shape, times)) move(shape, Target::local);
  } else if (shape.changes == 0 && !is_short) {
    const bool is_loop = shape.calls >= kCompared || (shape.calls > 0 && times.local_s > kLongS);
    if (is_loop && (gains(times) || pays_back(shape, times))) {
      move(shape, Target::remote);
    } else if (is_loop && may_try(shape, times)) {
      ++shape.trials;
      found.state = State::trial;
    } else if (is_loop && needs_operands(shape, times)) {
      ++shape.prepared;
      found.preparation = Preparation::operands;
    }
  }
  const bool stays = shape.side == Target::local && shape.changes == 0 && !is_short;
  if (stays && found.preparation == Preparation::none && needs_memory(shape, times)) {
    ++shape.warmed;
    found.preparation = Preparation::memory;
  }
  ++shape.calls;
  found.target = shape.side;
  // While others keep the accelerator busy, calls run here. This does not settle anything.
  const bool is_busy = times.waiting_s > 0 && times.again_s > times.local_s;
  if (found.target == Target::remote && is_busy) found.target = Target::local;
  const bool is_final =
      shape.side == Target::local ? shape.changes > 0 || is_short : is_measured(shape, times);
  if (is_final) found.state = State::settled;
  return found;
}

double History::repeated_part(std::uint64_t key, const OperandMemories& operands) const noexcept {
  const std::lock_guard lock(mutex_);
  const Shape* const shape = find(key);
  return shape != nullptr ? part_of(operands, shape->operands) : 0;
}

std::optional<Decision> History::staying(std::uint64_t key) noexcept {
  const std::lock_guard lock(mutex_);
  auto* const shape = const_cast<Shape*>(find(key));
  if (shape == nullptr || shape->local.count() < kEnough) return std::nullopt;
  const bool stays = shape->side == Target::local && shape->last.state == State::settled;
  if (!stays || (shape->calls + 1) % kEstimated == 0) return std::nullopt;
  ++shape->calls;
  shape->used = ++calls_;
  return shape->last;
}

Decision History::decide(const Estimate& estimate) noexcept {
  const std::lock_guard lock(mutex_);
  Shape* shape = find_or_make(estimate.shape);
  if (shape == nullptr) {
    Shape unknown;
    return choose(unknown, times_of(unknown, estimate));
  }
  shape->meet(estimate);
  shape->operands = estimate.operands;
  shape->last = choose(*shape, times_of(*shape, estimate));
  return shape->last;
}

Decision History::expect(const Estimate& estimate) const noexcept {
  const std::lock_guard lock(mutex_);
  const Shape* known = find(estimate.shape);
  Shape shape = known != nullptr ? *known : Shape{};
  shape.meet(estimate);
  Decision found = choose(shape, times_of(shape, estimate));
  if (found.state == State::trial) found.state = State::model;
  return found;
}

// The first calls wake threads and touch memory. A time beyond the error of the expected one counts
// only if the next ones are no better.
void History::add_local(Shape& shape, double seconds) noexcept {
  const Decision& expected = shape.last;
  const double most_s = expected.local_s * expected.local_error * kDoubted;
  const bool is_doubted = expected.local_s > 0 && seconds > most_s;
  shape.doubted = is_doubted ? shape.doubted + 1 : 0;
  if (!is_doubted || shape.doubted >= kEnough) shape.local.add(seconds);
}

Observation History::observe(std::uint64_t key, Target where, double seconds,
                             double waited_s) noexcept {
  const std::lock_guard lock(mutex_);
  budget_.spend(seconds);
  auto* shape = const_cast<Shape*>(find(key));
  if (shape == nullptr) return {};
  const bool remote = where == Target::remote;
  const double own_s = remote ? std::max(seconds - waited_s, 0.0) : seconds;
  Observation found;
  found.first = remote && !shape->was_remote;
  if (remote && shape->brings) shape->brought_s = own_s;
  if (remote && !shape->brings) shape->remote.add(own_s);
  if (!remote && !shape->was_remote) add_local(*shape, own_s);
  if (!remote && shape->doubted == 0) at_risk_s_ = 0;
  const Decision& expected = shape->last;
  const bool as_decided = expected.target == where;
  found.changed = as_decided && shape->fresh && shape->changes > 0;
  if (as_decided) shape->fresh = false;
  found.judged = as_decided && expected.local_s > 0 && expected.remote_s > 0;
  if (found.judged) {
    const double other_s = remote ? expected.local_s : expected.remote_s;
    found.mispredicted = seconds > kMispredicted * other_s;
  }
  if (found.judged && remote) {
    found.lost_s = std::max(0.0, seconds - expected.local_s);
    shape->slow = found.lost_s > 0 && !found.first ? shape->slow + 1 : 0;
    budget_.lose(found.lost_s);
    const double least_local_s = std::max(
        expected.local_s / (expected.local_error * expected.local_error), expected.local_least_s);
    // The price of bringing operands was accepted, if the local time was known. If other calls have
    // displaced them, it is paid again; that was not accepted.
    const bool is_accepted = expected.local_seen && found.first;
    const bool is_price = is_accepted || (expected.local_seen && shape->brings);
    pay(*shape, is_price ? found.lost_s : 0, std::max(0.0, expected.local_s - seconds));
    const double risk_s = is_accepted ? 0 : std::max(0.0, own_s - least_local_s);
    shape->at_risk_s += risk_s;
    at_risk_s_ += risk_s;
  }
  shape->was_remote = remote;
  return found;
}

// A price counts as lost until later calls of the shape have gained as much.
void History::pay(Shape& shape, double price_s, double gained_s) noexcept {
  const double repaid_s = std::min(shape.unpaid_s, gained_s);
  shape.unpaid_s += price_s - repaid_s;
  unpaid_s_ += price_s - repaid_s;
  budget_.lose(-repaid_s);
}

void History::observe_trial(std::uint64_t key, double seconds, double waited_s) noexcept {
  const std::lock_guard lock(mutex_);
  budget_.lose(seconds);
  auto* shape = const_cast<Shape*>(find(key));
  if (shape == nullptr) return;
  const bool brings = shape->repeats && shape->trials < kTrials;
  if (!brings) shape->remote.add(std::max(seconds - waited_s, 0.0));
}

}  // namespace ob::policy
