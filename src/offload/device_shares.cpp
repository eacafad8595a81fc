#include "offload/device_shares.hpp"

#include <algorithm>

#include "algorithms/panels/call.hpp"
#include "algorithms/tiles/products_split.hpp"
#include "algorithms/tiles/tiles.hpp"
#include "offload/call_cut.hpp"
#include "routines/cost.hpp"

namespace ob::offload {
namespace {

using algorithms::CallPart;
using algorithms::PipelineModel;

// Panels of a part. Sending, computing and returning overlap: the two shorter ones add about one
// panel's time to the longest.
constexpr double kPanels = 8;
// The time to acquire another connection and to start and end its thread.
constexpr double kPartSeconds = 200e-6;

struct Amount {
  double bytes_to = 0;
  double bytes_from = 0;
  double flop = 0;
};

double named(const Descriptor& routine, const Argument* arguments, std::string_view name) {
  return static_cast<double>(arguments[algorithms::argument_position(routine, name)].dim);
}

Amount amount_of(const Descriptor& routine, const CallPart& part, std::uint64_t memory_bytes) {
  const Argument* arguments = part.arguments.items;
  const Cost cost = cost_of(routine, arguments);
  Amount amount{bytes_in_panels(routine, arguments).value_or(cost.bytes_to), cost.bytes_from,
                cost.flop};
  const bool is_large = memory_bytes > 0 && algorithms::bytes_of_all(routine, arguments) >
                                                static_cast<double>(memory_bytes);
  const double in_tiles =
      is_large ? algorithms::tile_bytes(routine, arguments, part.diagonal, memory_bytes) : 0;
  if (in_tiles > 0) amount.bytes_to = in_tiles;
  if (part.diagonal.count == 0) return amount;
  const double order = named(routine, arguments, "n");
  const double rows = order - static_cast<double>(part.diagonal.first);
  const double below = rows - static_cast<double>(part.diagonal.count);
  const double share = (rows * rows - below * below) / (order * order);
  if (!is_large) amount.bytes_to *= rows / order;
  amount.bytes_from *= share;
  amount.flop *= share;
  return amount;
}

double seconds_of(const Amount& amount, const PipelineModel& model) {
  const double to = amount.bytes_to / model.to_bytes_per_s;
  const double there = amount.flop / model.flop_per_s;
  const double from = amount.bytes_from / model.from_bytes_per_s;
  const double longest = std::max({to, there, from});
  return longest + (to + there + from - longest) / kPanels;
}

// The model of each device while the others work, too: devices of one server share its link.
std::vector<PipelineModel> models_in_parallel(std::span<const Candidate> devices) {
  std::vector<PipelineModel> models;
  for (const Candidate& one : devices) {
    const auto sharers = std::count_if(devices.begin(), devices.end(), [&](const Candidate& other) {
      return other.server == one.server;
    });
    models.push_back(one.model);
    models.back().to_bytes_per_s /= static_cast<double>(sharers);
    models.back().from_bytes_per_s /= static_cast<double>(sharers);
  }
  return models;
}

CallPart whole_call(const Descriptor& routine, const Argument* arguments) {
  CallPart part;
  std::copy_n(arguments, routine.kinds.size(), part.arguments.items);
  return part;
}

bool known(std::span<const Candidate> devices) {
  return std::all_of(devices.begin(), devices.end(),
                     [](const Candidate& device) { return device.model.known(); });
}

}  // namespace

std::vector<double> shares_of_all(const Descriptor& routine, const Argument* arguments,
                                  std::span<const Candidate> candidates) {
  if (!known(candidates)) return std::vector<double>(candidates.size(), 1.0);
  const CallPart all = whole_call(routine, arguments);
  const std::vector<PipelineModel> models = models_in_parallel(candidates);
  std::vector<double> weights;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Amount amount = amount_of(routine, all, candidates[i].memory_bytes);
    weights.push_back(1 / std::max(seconds_of(amount, models[i]), 1e-9));
  }
  return weights;
}

double predict_shares(const Descriptor& routine, const Argument* arguments,
                      std::span<const Candidate> devices) {
  if (!known(devices)) return static_cast<double>(devices.size());
  const std::vector<double> weights = shares_of_all(routine, arguments, devices);
  const std::vector<CallPart> parts = algorithms::split_call(routine, arguments, weights);
  const std::vector<PipelineModel> models = models_in_parallel(devices);
  double longest = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    longest = std::max(
        longest, seconds_of(amount_of(routine, parts[i], devices[i].memory_bytes), models[i]));
  }
  return longest + kPartSeconds * static_cast<double>(devices.size() - 1);
}

std::size_t choose_number(std::span<const double> seconds) {
  const double enough = *std::min_element(seconds.begin(), seconds.end()) / algorithms::kClearly;
  std::size_t chosen = 0;
  while (seconds[chosen] > enough) ++chosen;
  return chosen + 1;
}

}  // namespace ob::offload
