#include "offload/factor_model.hpp"

#include <algorithm>
#include <set>

#include "algorithms/factor/step_model.hpp"
#include "offload/call_cut.hpp"
#include "offload/factor_memory.hpp"

namespace ob::offload {
namespace {

// The widest block of calls that are cut even without a predicted gain.
constexpr std::uint64_t kWidest = 256;

double told(const client::AcquiredDevice* acquired) {
  return acquired->device().info().gflops_double;
}

}  // namespace

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

algorithms::ExchangeModel exchange_model(const Execution& execution, Devices acquired_devices,
                                         const RoutineCall& call, std::uint64_t share) {
  algorithms::ExchangeModel model;
  const auto models = models_of(execution, acquired_devices, call);
  std::set<std::size_t> servers;
  for (std::size_t i = 0; i < acquired_devices.size(); ++i) {
    const client::AcquiredDevice* const acquired = acquired_devices[i];
    const DeviceInfo& info = acquired->device().info();
    const algorithms::PipelineModel& one = models[i];
    // A panel is factored at the rate of the routine, the rest is computed at that of products.
    const double products =
        told(acquired) * 1e9 * device_share(call.routine) / std::max(call.routine.efficiency, 0.01);
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

double seconds_alone(const RoutineCall& call, const algorithms::ExchangeModel& model,
                     const algorithms::RankModel& device) {
  if (device.panel_flop_per_s <= 0) return 0;
  const algorithms::FactorShape shape = algorithms::factor_shape(call.routine, call.arguments);
  const auto n = static_cast<double>(shape.n);
  const bool is_triangle = shape.kind == algorithms::FactorShape::Kind::cholesky;
  const double elements = is_triangle ? n * (n + 1) / 2 : static_cast<double>(shape.m) * n;
  const double bytes = elements * shape.element_bytes;
  return 2 * bytes / model.link_bytes_per_s + call.flops() / device.panel_flop_per_s;
}

algorithms::FactorPlan plan_by_memory(const algorithms::FactorShape& shape,
                                      const algorithms::ExchangeModel& model, std::size_t devices) {
  std::uint64_t memory_bytes = UINT64_MAX;
  for (const algorithms::RankModel& rank : model.ranks) {
    memory_bytes = std::min(memory_bytes, rank.memory_bytes);
  }
  const std::uint64_t even = std::clamp<std::uint64_t>(shape.n / (2 * devices), 1, kWidest);
  return {devices, std::min(even, default_block(shape, memory_bytes)), 0};
}

}  // namespace ob::offload
