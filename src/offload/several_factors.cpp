#include "offload/several_factors.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "algorithms/exchange/host_exchange.hpp"
#include "algorithms/exchange/ring_exchange.hpp"
#include "algorithms/factor/factor_call.hpp"
#include "algorithms/factor/step_model.hpp"
#include "offload/accuracy.hpp"
#include "offload/one_device.hpp"
#include "offload/residents.hpp"

namespace ob::offload {
namespace {

// Less is over before the others have been asked.
constexpr double kWorthAsking = 1e9;  // flop
// Blocks of calls that are cut whether that gains or not.
constexpr std::uint64_t kWidest = 256;
// Of memory: what the blocks of a matrix do not get; what rounding up small buffers loses; what
// there is if others have the rest.
constexpr std::uint64_t kSpareBytes = 64 << 10;
constexpr std::uint64_t kRoundingPart = 32;
constexpr std::uint64_t kShareOfLittle = 4;

// Enough for the rate of a link to show: 8 ms of 1 Gb/s.
constexpr std::uint64_t kProbeBytes = 1 << 20;
// Panels go past this process only where that is predicted to take so much of the time.
constexpr double kClearly = 0.97;

using Leases = std::span<client::AcquiredDevice* const>;

double told(const client::AcquiredDevice* acquired) {
  return acquired->device().info().gflops_double;
}

// Unless they are as good as equal: then they are in the order in which servers take turns.
void put_fastest_first(std::vector<client::AcquiredDevice*>& acquired_devices) {
  const auto slower = [](const client::AcquiredDevice* x, const client::AcquiredDevice* y) {
    return told(x) < told(y);
  };
  const auto [slowest, fastest] =
      std::minmax_element(acquired_devices.begin(), acquired_devices.end(), slower);
  if (told(*fastest) < 1.1 * told(*slowest)) return;
  std::stable_sort(acquired_devices.begin(), acquired_devices.end(),
                   [&](const client::AcquiredDevice* x, const client::AcquiredDevice* y) {
                     return slower(y, x);
                   });
}

double mean_told(Leases acquired_devices) {
  double sum = 0;
  for (const client::AcquiredDevice* acquired : acquired_devices) sum += told(acquired);
  return sum / static_cast<double>(acquired_devices.size());
}

// What is known of the acquired devices. Those of one server share its link.
algorithms::ExchangeModel exchange_model(State& state, Leases acquired_devices,
                                         const Descriptor& routine, const Argument* arguments,
                                         std::uint64_t share) {
  algorithms::ExchangeModel model;
  const double mean = mean_told(acquired_devices);
  const bool is_seen = state.routine(routine).remote.rate(routine.flops(arguments)) > 0;
  std::set<std::size_t> servers;
  for (const client::AcquiredDevice* acquired : acquired_devices) {
    const DeviceInfo& info = acquired->device().info();
    algorithms::PipelineModel one = model_of(state, *acquired, routine, arguments);
    // Rates that were seen are those of all devices together: what tells them apart is what they
    // say.
    if (is_seen && mean > 0) one.flop_per_s *= told(acquired) / mean;
    // a panel is made at the rate of the routine, the rest at that of products
    const double products =
        told(acquired) * 1e9 * device_share(routine) / std::max(routine.efficiency, 0.01);
    model.ranks.push_back({std::max(one.flop_per_s, 0.9 * products), one.flop_per_s, one.call_s,
                           memory_to_factor(info.memory_bytes) / share});
    model.message_s = one.message_s;
    const bool is_first = model.link_bytes_per_s == 0;
    const double slower = std::min(one.to_bytes_per_s, one.from_bytes_per_s);
    model.link_bytes_per_s = is_first ? slower : std::min(model.link_bytes_per_s, slower);
    if (!servers.insert(acquired->server()).second) continue;
    model.to_bytes_per_s += one.to_bytes_per_s;
    model.from_bytes_per_s += one.from_bytes_per_s;
  }
  return model;
}

// Not measured: it always is the same.
algorithms::FactorPlan plan_of_memory(const algorithms::FactorShape& shape,
                                      const algorithms::ExchangeModel& model, std::size_t devices) {
  std::uint64_t memory_bytes = UINT64_MAX;
  for (const algorithms::RankModel& rank : model.ranks) {
    memory_bytes = std::min(memory_bytes, rank.memory_bytes);
  }
  const std::uint64_t even = std::clamp<std::uint64_t>(shape.n / (2 * devices), 1, kWidest);
  return {devices, std::min(even, modest_block(shape, memory_bytes)), 0};
}

// What a device takes for the call as a whole: nothing overlaps.
double alone_s(const Descriptor& routine, const Argument* arguments,
               const algorithms::FactorShape& shape, const algorithms::ExchangeModel& model,
               const algorithms::RankModel& device) {
  if (device.panel_flop_per_s <= 0) return 0;
  const auto n = static_cast<double>(shape.n);
  const bool is_triangle = shape.kind == algorithms::FactorShape::Kind::cholesky;
  const double elements = is_triangle ? n * (n + 1) / 2 : static_cast<double>(shape.m) * n;
  const double bytes = elements * shape.element_bytes;
  return 2 * bytes / model.link_bytes_per_s + routine.flops(arguments) / device.panel_flop_per_s;
}

/// @param alone_s as choose_factor_plan()
algorithms::FactorPlan plan_of(State& state, const algorithms::FactorShape& shape,
                               const algorithms::ExchangeModel& model, bool strict,
                               double alone_s) {
  // at least one block for each device
  const std::size_t most = std::min<std::size_t>(model.ranks.size(), shape.n);
  if (state.config.always_several) return plan_of_memory(shape, model, most);
  if (!strict && model.known()) {
    const algorithms::FactorPlan plan = state.factor_plans.choose(shape, model, alone_s);
    if (plan.devices > 0) return plan;
  }
  return plan_of_memory(shape, model, 1);  // also where only thin blocks fit
}

// What stays on devices between calls gives way.
Status make_room(State& state, Leases acquired_devices) {
  for (client::AcquiredDevice* acquired : acquired_devices) {
    algorithms::Residency* resident = residency_of(state, *acquired);
    if (resident == nullptr) continue;
    OB_RETURN_IF_ERROR(resident->make_room(acquired->device().info().memory_bytes));
  }
  return {};
}

// A call and the devices that it may have, the fastest first.
class Attempt {
 public:
  Attempt(State& state, Leases acquired_devices, const Descriptor& routine,
          const Argument* arguments, std::uint64_t share)
      : state_(state),
        acquired_devices_(acquired_devices.begin(), acquired_devices.end()),
        routine_(routine),
        arguments_(arguments),
        shape_(algorithms::factor_shape(routine, arguments)),
        strict_(accuracy_now(state.config) == Accuracy::strict) {
    put_fastest_first(acquired_devices_);
    model_ = exchange_model(state, acquired_devices_, routine, arguments, share);
    // else the first one has the call as a whole, if it has the memory
    const client::AcquiredDevice* const first = acquired_devices.front();
    const auto at = std::find(acquired_devices_.begin(), acquired_devices_.end(), first) -
                    acquired_devices_.begin();
    if (acquired_devices_.size() > 1 &&
        fits_to_factor(routine, arguments, first->device().info().memory_bytes)) {
      alone_s_ =
          alone_s(routine, arguments, shape_, model_, model_.ranks[static_cast<std::size_t>(at)]);
    }
    plan_ = plan_of(state, shape_, model_, strict_, alone_s_);
    const bool may_be_ring = state.config.route != algorithms::Route::relay;
    if (acquired_devices_.size() > 1 && may_be_ring) no_ring_ = look_for_ring();
  }

  const algorithms::FactorPlan& plan() const { return plan_; }

  Status run(algorithms::CallTimings& timings) {
    model_.ranks.resize(plan_.devices);
    acquired_devices_.resize(plan_.devices);
    const auto distribution = algorithms::distribute_columns(shape_, model_.ranks, plan_);
    if (!distribution || distribution->slabs() > 1)
      OB_RETURN_IF_ERROR(make_room(state_, acquired_devices_));
    // Who asks for the ring alone is told why there is none.
    if (state_.config.route == algorithms::Route::ring) OB_RETURN_IF_ERROR(no_ring_);
    if (exchange_ == nullptr) {
      OB_ASSIGN_OR_RETURN(exchange_,
                          algorithms::HostExchange::create(first_devices(plan_.devices), model_));
    }
    return algorithms::offload_factorization(*exchange_, routine_, arguments_, plan_, timings);
  }

 private:
  std::vector<Device*> first_devices(std::size_t count) const {
    std::vector<Device*> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back(&acquired_devices_[i]->device());
    return devices;
  }

  std::uint64_t connection(std::size_t at) const { return acquired_devices_[at]->connection_id(); }

  // Calls that are cut whether that gains or not.
  bool is_forced() const {
    return state_.config.always_several || state_.config.route == algorithms::Route::ring;
  }

  // Between any of the devices, as far as it was measured; 0: nowhere.
  double slowest_way() const {
    double slowest = 0;
    for (std::size_t from = 0; from < acquired_devices_.size(); ++from) {
      for (std::size_t to = 0; to < acquired_devices_.size(); ++to) {
        const double rate = state_.peer_rates.rate(connection(from), connection(to));
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
      if (state_.peer_rates.rate(connection(at), connection(next)) > 0) continue;
      OB_ASSIGN_OR_RETURN(const double rate, ring.measure(at, kProbeBytes));
      state_.peer_rates.note(connection(at), connection(next), rate);
      known = false;
    }
    return known;
  }

  bool gains(const algorithms::FactorPlan& plan) const {
    if (is_forced()) return true;
    return plan_.seconds <= 0 || plan.seconds < kClearly * plan_.seconds;
  }

  // What was measured may change the plan, and with it what is to be measured.
  Status look_for_ring() {
    algorithms::ExchangeModel model = model_;
    model.route = algorithms::Route::ring;
    for (std::size_t round = 0; round <= acquired_devices_.size(); ++round) {
      model.peer_bytes_per_s = slowest_way();
      const algorithms::FactorPlan plan = plan_of(state_, shape_, model, strict_, alone_s_);
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

  State& state_;
  std::vector<client::AcquiredDevice*> acquired_devices_;
  const Descriptor& routine_;
  const Argument* const arguments_;
  const algorithms::FactorShape shape_;
  const bool strict_;
  double alone_s_ = 0;
  algorithms::ExchangeModel model_;
  algorithms::FactorPlan plan_;
  std::unique_ptr<algorithms::PanelExchange> exchange_;  // a ring, if there is one and it gains
  Status no_ring_;
};

bool may_be_several(const State& state, const Descriptor& routine, const Argument* arguments) {
  // Which devices take part, and with how much, changes sums.
  if (accuracy_now(state.config) == Accuracy::strict) return false;
  if (state.config.devices < 2) return false;
  return state.config.always_several || routine.flops(arguments) >= kWorthAsking;
}

}  // namespace

std::uint64_t memory_to_factor(std::uint64_t memory_bytes) noexcept {
  return memory_bytes - memory_bytes / kRoundingPart - std::min(memory_bytes / 8, kSpareBytes);
}

bool fits_to_factor(const Descriptor& routine, const Argument* arguments,
                    std::uint64_t memory_bytes) noexcept {
  if (memory_bytes == 0) return true;  // it does not say
  const std::uint64_t spare_bytes = std::min(memory_bytes / 8, kSpareBytes);
  return algorithms::factor_bytes_at_once(routine, arguments) <=
         static_cast<double>(memory_bytes - spare_bytes);
}

std::optional<Status> factor_on_several(State& state, client::AcquiredDevice& first,
                                        const Descriptor& routine, const Argument* arguments,
                                        algorithms::CallTimings& timings) {
  const bool fits = fits_to_factor(routine, arguments, first.device().info().memory_bytes);
  std::vector<client::AcquiredDevice> others;
  if (may_be_several(state, routine, arguments)) {
    others = state.pool.acquire_others(first, state.config.devices - 1);
  }
  if (fits && others.empty()) return std::nullopt;
  std::vector<client::AcquiredDevice*> acquired_devices{&first};
  for (client::AcquiredDevice& other : others) acquired_devices.push_back(&other);
  Attempt attempt(state, acquired_devices, routine, arguments, 1);
  if (fits && attempt.plan().devices < 2) return std::nullopt;
  Status status = attempt.run(timings);
  if (status.ok() || first.device().broken()) return status;
  // Another one failed for good, or has not the memory: perhaps the first can do it all.
  timings = {};
  if (fits) return std::nullopt;
  if (status.code() == Code::out_of_memory) {
    return factor_with_little(state, first, routine, arguments, timings);
  }
  if (others.empty()) return status;
  return Attempt(state, Leases(acquired_devices).first(1), routine, arguments, 1).run(timings);
}

Status factor_with_little(State& state, client::AcquiredDevice& acquired, const Descriptor& routine,
                          const Argument* arguments, algorithms::CallTimings& timings) {
  client::AcquiredDevice* const acquired_devices[] = {&acquired};
  timings = {};
  OB_RETURN_IF_ERROR(make_room(state, acquired_devices));
  OB_RETURN_IF_ERROR(acquired.device().drop_cached_buffers());
  return Attempt(state, acquired_devices, routine, arguments, kShareOfLittle).run(timings);
}

}  // namespace ob::offload
