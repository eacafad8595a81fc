#include "backend/null/backend.hpp"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/null/device.hpp"
#include "device/host_memory.hpp"
#include "routines/rate_family.hpp"

namespace ob::null {
namespace {

std::string description(const Config& config) {
  if (config.rate_gflops == 0) return "computes nothing; results are garbage";
  char text[80];
  std::snprintf(text, sizeof text, "computes nothing, in the time of %g GFLOP/s",
                config.rate_gflops);
  return text;
}

// The device takes the same time for all work, so two sizes say it for all.
std::vector<RoutineRate> rates_of(const Config& config) {
  std::vector<RoutineRate> rates;
  if (config.rate_gflops == 0) return rates;
  const auto add = [&](RateFamily family) {
    for (const double flop : {1e3, 1e15}) rates.push_back({family, flop, config.rate_gflops});
  };
  for (const MeasuredRoutine& measured : measured_routines()) add(measured.family);
  add(RateFamily::transform);
  return rates;
}

}  // namespace

Result<std::unique_ptr<Device>> create(const Config& config) {
  if (config.devices == 0 || config.index >= config.devices) {
    return Status(Code::invalid_argument, "no device " + std::to_string(config.index) + " among " +
                                              std::to_string(config.devices));
  }
  if (!std::isfinite(config.rate_gflops) || config.rate_gflops < 0) {
    return Status(Code::invalid_argument,
                  "the device rate must be a number of GFLOP/s, 0 for no limit");
  }
  if (!std::isfinite(config.plan_seconds) || config.plan_seconds < 0) {
    return Status(Code::invalid_argument, "the time of a plan must be a number of seconds");
  }
  if (!std::isfinite(config.longest_command_s) || config.longest_command_s < 0) {
    return Status(Code::invalid_argument, "the time of the longest command must be a number");
  }
  DeviceInfo info;
  info.backend = "null";
  info.description = description(config);
  info.memory_bytes =
      config.memory_bytes != 0 ? config.memory_bytes : share_of_host_memory(config.devices);
  info.gflops_double = config.rate_gflops;
  info.routine_rates = rates_of(config);
  auto device = std::make_unique<NullDevice>(std::move(info), config);
  device->limit_segments(SegmentBudget::share_of_process(config.devices));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace ob::null
