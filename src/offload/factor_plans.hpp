#pragma once
// Plans of factorizations, made once for each shape until the known values change clearly.

#include <deque>
#include <mutex>

#include "algorithms/exchange/exchange_model.hpp"
#include "algorithms/factor/plan.hpp"

namespace ob::offload {

/// Making a plan takes milliseconds of the caller's time, which short calls do not have.
/// Threads: any
class FactorPlans {
 public:
  /// Does as algorithms::choose_factor_plan(), for this model or one like it.   @pre model.known()
  /// @param alone_s follows from shape and model
  algorithms::FactorPlan choose(const algorithms::FactorShape& shape,
                                const algorithms::ExchangeModel& model, double alone_s = 0);

 private:
  struct Made {
    algorithms::FactorShape shape;
    algorithms::ExchangeModel model;
    algorithms::FactorPlan plan;
  };
  static constexpr std::size_t kMost = 64;

  std::mutex mutex_;
  std::deque<Made> made_;  // the last used first
};

}  // namespace ob::offload
