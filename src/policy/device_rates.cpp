#include "policy/device_rates.hpp"

#include "base/arithmetic.hpp"

namespace ob::policy {
namespace {

// One warm call of each size was measured, of a square matrix with random elements. The program's
// matrices have other shapes, and iterations depend on the elements.
constexpr double kErrorNear = 1.4;
// Rates of sizes that are far from all measured ones are guesses.
constexpr double kErrorFar = 2;
constexpr double kFar = 8;  // ratio of the work: twice the order

struct Neighbours {
  const RoutineRate* below = nullptr;  // the largest of at most so much work
  const RoutineRate* above = nullptr;  // the smallest of more
};

Neighbours neighbours(std::span<const RoutineRate> measured, RateFamily family,
                      double flop) noexcept {
  Neighbours found;
  for (const RoutineRate& rate : measured) {
    if (rate.family != family) continue;
    const RoutineRate*& side = rate.flop <= flop ? found.below : found.above;
    const bool is_nearer =
        side == nullptr || (rate.flop <= flop ? rate.flop > side->flop : rate.flop < side->flop);
    if (is_nearer) side = &rate;
  }
  return found;
}

}  // namespace

Rate measured_rate(std::span<const RoutineRate> measured, RateFamily family, double flop) noexcept {
  if (family == RateFamily::none || !(flop > 0)) return {0, 1};
  const auto [below, above] = neighbours(measured, family, flop);
  if (below == nullptr && above == nullptr) return {0, 1};
  const double order = cube_root(flop);
  const bool is_near = (below != nullptr && flop <= kFar * below->flop) ||
                       (above != nullptr && above->flop <= kFar * flop);
  const double error = is_near || (below != nullptr && above != nullptr) ? kErrorNear : kErrorFar;
  if (above == nullptr) return {below->gflops * 1e9, error};
  const double above_order = cube_root(above->flop);
  if (below == nullptr) return {above->gflops * 1e9 * order / above_order, error};
  const double below_order = cube_root(below->flop);
  const double part = (order - below_order) / (above_order - below_order);
  return {(below->gflops + part * (above->gflops - below->gflops)) * 1e9, error};
}

}  // namespace ob::policy
