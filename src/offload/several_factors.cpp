#include "offload/several_factors.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "algorithms/exchange/host_exchange.hpp"
#include "algorithms/exchange/ring_exchange.hpp"
#include "algorithms/factor/call.hpp"
#include "offload/factor_memory.hpp"
#include "offload/factor_model.hpp"
#include "offload/usable_memory.hpp"

namespace ob::offload {
namespace {

// A smaller call ends before the other servers have answered.
constexpr double kWorthFactoring = 1e9;  // flop

// The probe is large enough to show the rate of a link: it takes 8 ms at 1 Gb/s.
constexpr std::uint64_t kProbeBytes = 1 << 20;
// Panels go from device to device only where the predicted time is at most this fraction of the
// time through this process.
constexpr double kRingTimeLimit = 0.97;

/// @param alone_s as choose_factor_plan()
algorithms::FactorPlan plan_of(const Execution& execution, const algorithms::FactorShape& shape,
                               const algorithms::ExchangeModel& model, bool strict,
                               double alone_s) {
  // at least one block for each device
  const std::size_t most = std::min<std::size_t>(model.ranks.size(), shape.n);
  if (execution.config.always_several) return plan_by_memory(shape, model, most);
  if (!strict && model.known()) {
    const algorithms::FactorPlan plan = execution.factor_plans.choose(shape, model, alone_s);
    if (plan.devices > 0) return plan;
  }
  return plan_by_memory(shape, model, 1);  // also where only thin blocks fit
}

// Frees the copies that stay on devices between calls.
Status make_room(const Execution& execution, Devices acquired_devices) {
  for (client::AcquiredDevice* acquired : acquired_devices) {
    algorithms::Residency* resident = execution.residents.of(*acquired);
    if (resident == nullptr) continue;
    OB_RETURN_IF_ERROR(resident->make_room(acquired->device().info().memory_bytes));
  }
  return {};
}

// The run of one call on the devices that it may use, the fastest first.
class Factorization {
 public:
  Factorization(const Execution& execution, Devices acquired_devices, const RoutineCall& call,
                std::uint64_t share)
      : execution_(execution),
        acquired_devices_(acquired_devices.begin(), acquired_devices.end()),
        call_(call),
        shape_(algorithms::factor_shape(call.routine, call.arguments)),
        strict_(execution.strict()) {
    put_fastest_first(acquired_devices_);
    model_ = exchange_model(execution, acquired_devices_, call, share);
    // The alternative: the first device runs the call as a whole, if it has the memory.
    const client::AcquiredDevice* const first = acquired_devices.front();
    const auto at = std::find(acquired_devices_.begin(), acquired_devices_.end(), first) -
                    acquired_devices_.begin();
    if (acquired_devices_.size() > 1 &&
        fits_to_factor(call.routine, call.arguments, first->device().info().memory_bytes)) {
      alone_s_ = seconds_alone(call, model_, model_.ranks[static_cast<std::size_t>(at)]);
    }
    plan_ = plan_of(execution, shape_, model_, strict_, alone_s_);
    const bool may_be_ring = execution.config.route != algorithms::Route::relay;
    if (acquired_devices_.size() > 1 && may_be_ring) no_ring_ = look_for_ring();
  }

  const algorithms::FactorPlan& plan() const { return plan_; }

  Status run(algorithms::CallTimings& timings) {
    model_.ranks.resize(plan_.devices);
    acquired_devices_.resize(plan_.devices);
    const auto distribution = algorithms::distribute_columns(shape_, model_.ranks, plan_);
    if (!distribution || distribution->slabs() > 1)
      OB_RETURN_IF_ERROR(make_room(execution_, acquired_devices_));
    // A user who allows only the ring gets the reason why there is none.
    if (execution_.config.route == algorithms::Route::ring) OB_RETURN_IF_ERROR(no_ring_);
    if (exchange_ == nullptr) {
      OB_ASSIGN_OR_RETURN(exchange_,
                          algorithms::HostExchange::create(first_devices(plan_.devices), model_));
    }
    return algorithms::offload_factorization(*exchange_, call_.routine, call_.arguments, plan_,
                                             timings);
  }

 private:
  std::vector<Device*> first_devices(std::size_t count) const {
    std::vector<Device*> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back(&acquired_devices_[i]->device());
    return devices;
  }

  std::uint64_t connection(std::size_t at) const { return acquired_devices_[at]->connection_id(); }

  // True if the call is cut even without a predicted gain.
  bool is_forced() const {
    return execution_.config.always_several || execution_.config.route == algorithms::Route::ring;
  }

  // The lowest measured rate between two of the devices; 0 if none was measured.
  double slowest_peer_rate() const {
    double slowest = 0;
    for (std::size_t from = 0; from < acquired_devices_.size(); ++from) {
      for (std::size_t to = 0; to < acquired_devices_.size(); ++to) {
        const double rate = execution_.peer_rates.rate(connection(from), connection(to));
        if (rate > 0 && (slowest == 0 || rate < slowest)) slowest = rate;
      }
    }
    return slowest;
  }

  // True if there was nothing left to measure.
  Result<bool> measure(algorithms::RingExchange& ring) {
    bool known = true;
    for (std::size_t at = 0; at < ring.size(); ++at) {
      const std::size_t next = (at + 1) % ring.size();
      if (execution_.peer_rates.rate(connection(at), connection(next)) > 0) continue;
      OB_ASSIGN_OR_RETURN(const double rate, ring.measure(algorithms::Rank(at), kProbeBytes));
      execution_.peer_rates.note(connection(at), connection(next), rate);
      known = false;
    }
    return known;
  }

  bool gains(const algorithms::FactorPlan& plan) const {
    if (is_forced()) return true;
    return plan_.seconds <= 0 || plan.seconds < kRingTimeLimit * plan_.seconds;
  }

  // Each measurement may change the plan, and the plan determines the next measurement.
  Status look_for_ring() {
    algorithms::ExchangeModel model = model_;
    model.route = algorithms::Route::ring;
    for (std::size_t round = 0; round <= acquired_devices_.size(); ++round) {
      model.peer_bytes_per_s = slowest_peer_rate();
      const algorithms::FactorPlan plan = plan_of(execution_, shape_, model, strict_, alone_s_);
      if (plan.devices < 2 || !gains(plan)) return {};
      OB_ASSIGN_OR_RETURN(auto ring,
                          algorithms::RingExchange::create(first_devices(plan.devices), model));
      bool known = true;
      if (!is_forced()) {
        OB_ASSIGN_OR_RETURN(known, measure(*ring));
      }
      if (!known) continue;
      exchange_ = std::move(ring);
      model_ = model;
      plan_ = plan;
      return {};
    }
    return {};
  }

  const Execution& execution_;
  std::vector<client::AcquiredDevice*> acquired_devices_;
  const RoutineCall call_;
  const algorithms::FactorShape shape_;
  const bool strict_;
  double alone_s_ = 0;
  algorithms::ExchangeModel model_;
  algorithms::FactorPlan plan_;
  std::unique_ptr<algorithms::PanelExchange> exchange_;  // a ring, if there is one and it gains
  Status no_ring_;
};

bool may_be_several(const Execution& execution, const RoutineCall& call) {
  // The devices that take part, and the size of their parts, change the order of sums.
  if (execution.strict()) return false;
  if (execution.config.devices < 2) return false;
  return execution.config.always_several || call.flops() >= kWorthFactoring;
}

}  // namespace

std::optional<Status> factor_on_several(const Execution& execution, client::AcquiredDevice& first,
                                        const RoutineCall& call, algorithms::CallTimings& timings) {
  const bool fits =
      fits_to_factor(call.routine, call.arguments, first.device().info().memory_bytes);
  std::vector<client::AcquiredDevice> others;
  if (may_be_several(execution, call)) {
    others = execution.connections.acquire_others(first, execution.config.devices - 1);
  }
  if (fits && others.empty()) return std::nullopt;
  std::vector<client::AcquiredDevice*> acquired_devices{&first};
  for (client::AcquiredDevice& other : others) acquired_devices.push_back(&other);
  Factorization run(execution, acquired_devices, call, 1);
  if (fits && run.plan().devices < 2) return std::nullopt;
  Status status = run.run(timings);
  if (status.ok() || first.device().broken()) return status;
  // Another device failed for good, or lacks the memory. The first one may be able to run it all.
  timings = {};
  if (fits) return std::nullopt;
  if (status.code() == Code::out_of_memory) {
    return factor_with_little(execution, first, call, timings);
  }
  if (others.empty()) return status;
  return Factorization(execution, Devices(acquired_devices).first(1), call, 1).run(timings);
}

Status factor_with_little(const Execution& execution, client::AcquiredDevice& acquired,
                          const RoutineCall& call, algorithms::CallTimings& timings) {
  client::AcquiredDevice* const acquired_devices[] = {&acquired};
  timings = {};
  OB_RETURN_IF_ERROR(make_room(execution, acquired_devices));
  OB_RETURN_IF_ERROR(acquired.device().drop_cached_buffers());
  return Factorization(execution, acquired_devices, call, kShareAfterExhaustion).run(timings);
}

}  // namespace ob::offload
