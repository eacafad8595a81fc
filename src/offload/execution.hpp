#pragma once
// The parts of an engine that the run of one call on devices needs.

#include "base/accuracy.hpp"
#include "client/connection_cache.hpp"
#include "offload/config.hpp"
#include "offload/factor_plans.hpp"
#include "offload/peer_rates.hpp"
#include "offload/residents.hpp"
#include "policy/rate_model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// A routine with the arguments of one call, in the normal form.   Memory: owns neither
struct RoutineCall {
  const Descriptor& routine;
  const Argument* arguments;

  double flops() const noexcept { return routine.flops(arguments); }
};

/// The engine's parts that take part in running a call.   Memory: owns none of them
struct Execution {
  const Config& config;
  client::ConnectionCache& connections;
  Residents& residents;
  PeerRates& peer_rates;
  FactorPlans& factor_plans;
  const policy::RateModel& rates;  ///< observed rates of the routine on devices
  Accuracy accuracy = Accuracy::standard;

  /// True if the same call must give the same bits again. Choices by measurements are off then.
  bool strict() const noexcept { return accuracy == Accuracy::strict; }
};

}  // namespace ob::offload
