#include "policy/random_programs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace ob::policy {
namespace {

Link link_of(double round_trip_s, double bytes_per_s) {
  Link link;
  link.round_trip_s = round_trip_s;
  link.to_bytes_per_s = link.from_bytes_per_s = bytes_per_s;
  return link;
}

}  // namespace

double RandomProgram::uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(numbers_);
}

double RandomProgram::log_uniform(double low, double high) {
  return std::exp(uniform(std::log(low), std::log(high)));
}

// How wrong something is of which it is said that nine in ten are within `error`. The normal
// distribution has nine tenths within 1.645 standard deviations. Nothing is wrong beyond the square
// of the error, as in the rule of the stake.
double RandomProgram::factor(double error) {
  const double sigma = std::log(error) / 1.645;
  const double found = std::normal_distribution<double>(0, sigma)(numbers_);
  return std::exp(std::clamp(found, -2 * std::log(error), 2 * std::log(error)));
}

RandomProgram::RandomProgram(std::uint64_t seed) : numbers_(seed) {
  make_machine();
  make_calls();
}

void RandomProgram::make_machine() {
  const double here = log_uniform(1e9, 2e12);
  const double there = here * log_uniform(0.1, 100);
  link_error_ = chance(0.3) ? 1.1 : 1.3;
  link_ = link_of(log_uniform(2e-6, 2e-3), log_uniform(1e7, 1e10));
  const double wrong = factor(link_error_);
  true_link_ = link_of(link_.round_trip_s * wrong, link_.to_bytes_per_s / wrong);
  link_.fresh_s_per_byte = log_uniform(1e-11, 3e-9);
  true_link_.fresh_s_per_byte = link_.fresh_s_per_byte * factor(link_error_);
  noise_ = log_uniform(0.005, 0.1);
  hiccups_ = chance(0.5) ? 0 : log_uniform(1e-4, 1e-2);
  keeps_operands_ = chance(0.5);
  const int count = std::uniform_int_distribution<int>(1, 5)(numbers_);
  for (int i = 0; i < count; ++i) {
    Routine routine;
    const double share = i == 0 ? 1 : log_uniform(0.05, 1);
    routine.shipped_here = {here * share, i == 0 ? 1.35 : 1.7};
    routine.half_flop = log_uniform(1e3, 1e8);
    routine.here = factor(routine.shipped_here.error);
    // Well-kept products reach nine tenths of the peak, other routines less; nothing exceeds it.
    if (chance(0.5)) {
      routine.most_flop_per_s = 1.1 * routine.shipped_here.flop_per_s / uniform(0.4, 0.95);
      routine.here =
          std::min(routine.here, routine.most_flop_per_s / routine.shipped_here.flop_per_s);
    }
    routine.shipped_there = {there * share, i == 0 ? 1.3 : 3};
    routine.there = factor(routine.shipped_there.error);
    routines_.push_back(routine);
  }
}

std::size_t RandomProgram::add_shape(std::size_t routine, double order, double other) {
  Shape shape;
  shape.routine = routine;
  shape.work.flop = 2 * order * order * other;
  shape.work.bytes_to = 16 * order * other + 8 * order * order;
  shape.work.bytes_from = 8 * order * order;
  shape.work.memory_bytes = shape.work.bytes_to + shape.work.bytes_from;
  shape.work.may_stay = keeps_operands_;
  shape.work.shape = shapes_.size() + 1;
  shapes_.push_back(shape);
  return shapes_.size() - 1;
}

// Loops over one call, mixtures, growing sizes, and shapes that never come back.
void RandomProgram::make_calls() {
  const auto count = static_cast<std::size_t>(log_uniform(1, 1000));
  const double largest = log_uniform(60, 4000);
  const int kind = std::uniform_int_distribution<int>(0, 3)(numbers_);
  const auto routine = [&] {
    return std::uniform_int_distribution<std::size_t>(0, routines_.size() - 1)(numbers_);
  };
  const auto order = [&] { return log_uniform(50, largest); };
  const std::size_t shapes = kind == 0 ? 1 : kind == 1 ? 1 + count / 20 : count;
  for (std::size_t i = 0; i < shapes; ++i) {
    const double grown = 50 + (largest - 50) * static_cast<double>(i + 1) / shapes;
    add_shape(kind == 0 ? 0 : routine(), kind == 2 ? grown : order(), kind == 2 ? grown : order());
  }
  if (chance(0.5)) {
    const double step = std::pow(log_uniform(0.5, 2), 1 / static_cast<double>(count));
    drift_step_ = std::clamp(step, 0.99, 1.01);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const bool drawn = kind == 1;
    calls_.push_back(drawn ? std::uniform_int_distribution<std::size_t>(0, shapes - 1)(numbers_)
                           : i % shapes);
  }
}

Rate RandomProgram::shipped_here(const Shape& shape) const {
  const Routine& routine = routines_[shape.routine];
  const double flop = shape.work.flop;
  return {routine.shipped_here.flop_per_s * flop / (flop + routine.half_flop),
          routine.shipped_here.error};
}

double RandomProgram::local_s(const Shape& shape) const {
  return shape.work.flop / (shipped_here(shape).flop_per_s * routines_[shape.routine].here);
}

double RandomProgram::remote_s(const Shape& shape, bool there) const {
  const Routine& routine = routines_[shape.routine];
  const double rate = routine.shipped_there.flop_per_s * routine.there;
  Remote remote{.link = true_link_, .flop_per_s = rate};
  remote.bytes_on_device = there ? shape.work.bytes_to : 0;
  remote.fresh_bytes = fresh_bytes(shape.work);
  return predict(shape.work, remote).whole_s * drift_;
}

double RandomProgram::fresh_bytes(const Work& work) const {
  return std::max(0.0, work.memory_bytes - used_bytes_);
}

double RandomProgram::disturbed(double seconds) {
  double found = seconds * std::exp(std::normal_distribution<double>(0, noise_)(numbers_));
  if (chance(hiccups_)) found += log_uniform(1e-3, 50e-3);
  return found;
}

// The thread that prepares calls needs the time of some calls, or of many where all cores are busy,
// and costs nothing that is counted.
void RandomProgram::prepare(Preparation wanted, std::size_t shape) {
  if (wanted != Preparation::none && prepared_after_ == 0) {
    const unsigned most = chance(0.5) ? 20 : 2000;
    prepared_after_ = std::uniform_int_distribution<unsigned>(1, most)(numbers_);
    prepared_ = shape;
    preparation_ = wanted;
  }
  if (prepared_after_ == 0 || --prepared_after_ > 0) return;
  used_bytes_ = std::max(used_bytes_, shapes_[prepared_].work.memory_bytes);
  if (preparation_ == Preparation::operands) resident_ = prepared_;
}

// The price of bringing operands is lost as far as the shape's later calls do not gain as much.
void RandomProgram::charge(Bill& bill, Shape& shape, double more_s, bool is_price) {
  if (more_s > 0) bill.lost_s += more_s;
  if (more_s > 0 && is_price) shape.unpaid_s += more_s;
  const double repaid_s = std::min(shape.unpaid_s, std::max(-more_s, 0.0));
  shape.unpaid_s -= repaid_s;
  bill.lost_s -= repaid_s;
}

Bill RandomProgram::run() {
  Bill bill;
  LossBudget budget;
  std::vector<RoutineRates> rates(routines_.size());
  std::vector<std::unique_ptr<History>> histories;
  for (std::size_t i = 0; i < routines_.size(); ++i)
    histories.push_back(std::make_unique<History>(budget));
  for (const std::size_t index : calls_) {
    Shape& shape = shapes_[index];
    Routine& routine = routines_[shape.routine];
    RoutineRates& known = rates[shape.routine];
    History& history = *histories[shape.routine];
    const bool is_there = keeps_operands_ && resident_ == index;
    const std::uint64_t memory = keeps_operands_ ? index + 1 : bill.calls + 1;
    shape.work.operands = {{{memory, shape.work.bytes_to}}};
    CallEstimate found;
    estimate_local(known, shape.work, shipped_here(shape), routine.most_flop_per_s, found.estimate);
    const Accelerator accelerator{link_, link_error_, routine.shipped_there,
                                  fresh_bytes(shape.work)};
    const double again =
        shape.work.bytes_to * history.repeated_part(shape.work.shape, shape.work.operands);
    estimate_remote(known, shape.work, accelerator, is_there ? shape.work.bytes_to : 0, again, 0,
                    found);
    found.estimate.brings = keeps_operands_ && !is_there;
    const auto staying = history.staying(shape.work.shape);
    const Decision decision = staying ? *staying : history.decide(found.estimate);
    prepare(decision.preparation, index);
    const double here_s = local_s(shape);
    const double there_s = remote_s(shape, is_there);
    const bool remote = decision.target == Target::remote;
    bill.native_s += here_s;
    bill.ideal_s += std::min(here_s, there_s);
    if (remote || decision.state == State::trial) {
      const double seen_s = disturbed(there_s);
      known.remote.observe(
          shape.work.flop,
          shape.work.flop / (routine.shipped_there.flop_per_s * routine.there) * drift_,
          routine.shipped_there);
      const double model_s = found.now.whole_s / found.correction;
      known.whole.observe(shape.work.flop, seen_s, predicted_rate(shape.work, model_s, 1));
      used_bytes_ = std::max(used_bytes_, shape.work.memory_bytes);
      if (keeps_operands_) resident_ = index;
      if (remote) {
        history.observe(shape.work.shape, Target::remote, seen_s, 0);
      } else {
        history.observe_trial(shape.work.shape, seen_s, 0);
        bill.trials += 1;
      }
      bill.spent_s += there_s;
      if (!remote) bill.lost_s += there_s;
      if (remote) charge(bill, shape, there_s - here_s, keeps_operands_ && !is_there);
      bill.remote += remote ? 1 : 0;
    }
    if (!remote) {
      const double cold = routine.started ? 1 : uniform(1, 10);
      const double seen_s = disturbed(here_s * cold);
      known.local.observe(shape.work.flop, seen_s, shipped_here(shape));
      history.observe(shape.work.shape, Target::local, seen_s, 0);
      bill.spent_s += here_s;
      routine.started = true;
    }
    if (shape.last >= 0 && shape.last != (remote ? 1 : 0)) ++shape.changes;
    shape.last = remote ? 1 : 0;
    bill.most_changes = std::max(bill.most_changes, shape.changes);
    drift_ *= drift_step_;
    ++bill.calls;
  }
  bill.budget_s = budget.spent_s();
  return bill;
}

}  // namespace ob::policy
