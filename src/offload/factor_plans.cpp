#include "offload/factor_plans.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/factor/step_model.hpp"

namespace ob::offload {
namespace {

using algorithms::ExchangeModel;
using algorithms::FactorPlan;
using algorithms::FactorShape;
using algorithms::RankModel;

// Rates move with every call that is measured; plans that follow smaller steps gain nothing.
constexpr double kAbout = 1.15;

bool is_about(double x, double y) noexcept {
  return x == y || (x > 0 && y > 0 && x < kAbout * y && y < kAbout * x);
}

bool is_same(const FactorShape& x, const FactorShape& y) noexcept {
  return x.kind == y.kind && x.m == y.m && x.n == y.n && x.element_bytes == y.element_bytes &&
         x.complex == y.complex;
}

bool is_like(const RankModel& x, const RankModel& y) noexcept {
  return is_about(x.flop_per_s, y.flop_per_s) && is_about(x.panel_flop_per_s, y.panel_flop_per_s) &&
         x.memory_bytes == y.memory_bytes;
}

bool is_like(const ExchangeModel& x, const ExchangeModel& y) noexcept {
  return x.route == y.route && is_about(x.to_bytes_per_s, y.to_bytes_per_s) &&
         is_about(x.from_bytes_per_s, y.from_bytes_per_s) &&
         is_about(x.link_bytes_per_s, y.link_bytes_per_s) &&
         is_about(x.peer_bytes_per_s, y.peer_bytes_per_s) &&
         std::equal(x.ranks.begin(), x.ranks.end(), y.ranks.begin(), y.ranks.end(),
                    [](const RankModel& a, const RankModel& b) { return is_like(a, b); });
}

}  // namespace

FactorPlan FactorPlans::choose(const FactorShape& shape, const ExchangeModel& model,
                               double alone_s) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(made_.begin(), made_.end(), [&](const Made& made) {
      return is_same(made.shape, shape) && is_like(made.model, model);
    });
    if (found != made_.end()) {
      std::rotate(made_.begin(), found, std::next(found));
      return made_.front().plan;
    }
  }
  const FactorPlan plan = choose_factor_plan(shape, model, alone_s);
  const std::lock_guard lock(mutex_);
  made_.push_front({shape, model, plan});
  if (made_.size() > kMost) made_.pop_back();
  return plan;
}

}  // namespace ob::offload
