#include "sial_device.hpp"

#include <map>
#include <string>
#include <utility>

#include "api/open.hpp"

namespace ob::apps {
namespace {

using sial::Place;

Place place_of(const std::string& word) {
  static const std::map<std::string, Place> kPlaces{
      {"host", Place::host}, {"device", Place::device}, {"hints", Place::hints}};
  const auto found = kPlaces.find(word);
  return found == kPlaces.end() ? Place::automatic : found->second;
}

}  // namespace

Result<std::unique_ptr<sial::DevicePlace>> open_sial_device(const SialOptions& options,
                                                            const Ranks& ranks, sial::Gemm& host) {
  sial::DevicePlaceOptions wanted;
  wanted.place = place_of(options.place);
  wanted.memory_bytes = options.device_memory_bytes;
  // The operands that are kept for a lost device are blocks of the worker.
  if (options.worker_memory_bytes != 0) wanted.held_bytes = options.worker_memory_bytes / 8;
  const sial::Rank rank = ranks.number();
  if (options.devices.empty()) {
    if (wanted.place == Place::device || wanted.place == Place::hints) {
      return Status(Code::invalid_argument,
                    "--place " + options.place + " needs a device; name one with --device");
    }
    return std::unique_ptr<sial::DevicePlace>();
  }
  if (rank >= options.workers || wanted.place == Place::host)
    return std::unique_ptr<sial::DevicePlace>();
  const std::string& address = options.devices[rank % options.devices.size()];
  ob_device_options defaults{};
  defaults.struct_bytes = sizeof defaults;
  auto opened = api::open_device(address.c_str(), defaults);
  if (!opened.ok()) return opened.status().in("--device " + address);
  const std::shared_ptr<Device> device(*opened, &***opened);
  sial::PlaceRates rates;
  if (wanted.place == Place::automatic) {
    auto measured = sial::measure_rates(*device, host);
    if (!measured.ok()) return measured.status().in("--device " + address);
    rates = *measured;
  }
  auto place = sial::DevicePlace::open(device, rates, wanted, host);
  if (!place.ok()) return place.status().in("--device " + address);
  return place;
}

}  // namespace ob::apps
