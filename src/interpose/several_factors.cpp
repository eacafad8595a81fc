#include "interpose/several_factors.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "algorithms/factor_call.hpp"
#include "algorithms/host_fabric.hpp"
#include "interpose/pipelined.hpp"

namespace ob::interpose {
namespace {

// Less is over before the others have been asked.
constexpr double kWorthAsking = 1e9;  // flop
// Blocks of calls that are cut whether that gains or not.
constexpr std::uint64_t kWidest = 256;

// What is known of the leased devices. Those of one server share its link.
algorithms::FabricModel fabric_model(State& state, const std::vector<client::Lease*>& leases,
                                     const Descriptor& routine, const Argument* arguments) {
  algorithms::FabricModel model;
  std::set<std::size_t> servers;
  for (const client::Lease* lease : leases) {
    const algorithms::PipelineModel one = model_of(state, *lease, routine, arguments);
    // a panel is made at the rate of the routine, the rest at that of products
    const double products = lease->device().info().gflops_double * 1e9 * device_share(routine) /
                            std::max(routine.efficiency, 0.01);
    model.ranks.push_back({std::max(one.flop_per_s, 0.9 * products), one.flop_per_s, one.call_s});
    model.message_s = one.message_s;
    const bool is_first = model.link_bytes_per_s == 0;
    const double slower = std::min(one.to_bytes_per_s, one.from_bytes_per_s);
    model.link_bytes_per_s = is_first ? slower : std::min(model.link_bytes_per_s, slower);
    if (!servers.insert(lease->server()).second) continue;
    model.to_bytes_per_s += one.to_bytes_per_s;
    model.from_bytes_per_s += one.from_bytes_per_s;
  }
  return model;
}

algorithms::FactorPlan plan_of(const State& state, const algorithms::FactorShape& shape,
                               const algorithms::FabricModel& model, std::uint64_t memory_bytes) {
  if (!state.settings.always_several) {
    if (!model.known()) return {1, 0, 0};
    return choose_factor_plan(shape, model, memory_bytes);
  }
  // at least one block for each device
  const std::size_t devices = std::min<std::size_t>(model.ranks.size(), shape.n);
  return {devices, std::clamp<std::uint64_t>(shape.n / (2 * devices), 1, kWidest), 0};
}

}  // namespace

std::optional<Status> factor_on_several(State& state, client::Lease& first,
                                        const Descriptor& routine, const Argument* arguments,
                                        algorithms::Stages& stages) {
  const Settings& settings = state.settings;
  if (settings.devices < 2) return std::nullopt;
  if (!settings.always_several && routine.flops(arguments) < kWorthAsking) return std::nullopt;
  std::vector<client::Lease> others = state.pool.lease_others(first, settings.devices - 1);
  if (others.empty()) return std::nullopt;
  std::vector<client::Lease*> leases{&first};
  for (client::Lease& other : others) leases.push_back(&other);
  std::uint64_t memory_bytes = UINT64_MAX;
  for (const client::Lease* lease : leases) {
    memory_bytes = std::min(memory_bytes, lease->device().info().memory_bytes);
  }
  algorithms::FabricModel model = fabric_model(state, leases, routine, arguments);
  const algorithms::FactorShape shape = algorithms::factor_shape(routine, arguments);
  const algorithms::FactorPlan plan = plan_of(state, shape, model, memory_bytes);
  if (plan.devices < 2) return std::nullopt;
  model.ranks.resize(plan.devices);
  std::vector<Device*> devices;
  for (std::size_t i = 0; i < plan.devices; ++i) devices.push_back(&leases[i]->device());
  Status status;
  {
    auto fabric = algorithms::HostFabric::create(devices, model);
    status = fabric.ok() ? algorithms::offload_factorization(**fabric, routine, arguments,
                                                             plan.block, stages)
                         : fabric.status();
  }
  // Another one failed for good, or has not the memory: perhaps the first can do it all.
  if (!status.ok() && !first.device().broken()) {
    stages = {};
    return std::nullopt;
  }
  return status;
}

}  // namespace ob::interpose
