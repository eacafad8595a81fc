#include "algorithms/ring_fabric.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "algorithms/device_buffer.hpp"
#include "algorithms/watchful_wait.hpp"

namespace ob::algorithms {
namespace {

// Of one parcel.
constexpr std::uint64_t kMostRegions = 16;

// A number that no parcel of a call has.
constexpr ParcelId kProbe{UINT64_MAX};

ParcelId number_of(ParcelTag tag, std::size_t region) noexcept {
  return {tag * kMostRegions + region + 1};
}

}  // namespace

Result<std::unique_ptr<RingFabric>> RingFabric::create(std::span<Device* const> devices,
                                                       const FabricModel& model) {
  for (Device* device : devices) {
    if (device->peering() == nullptr) {
      return Status(Code::unsupported, "a device that others cannot reach");
    }
  }
  OB_ASSIGN_OR_RETURN(std::vector<Station> stations, open_all(devices));
  std::unique_ptr<RingFabric> fabric(new RingFabric(std::move(stations), model));
  for (Device* device : devices) {
    OB_ASSIGN_OR_RETURN(Inbox inbox, device->peering()->inbox());
    fabric->inboxes_.push_back(std::move(inbox));
  }
  for (std::size_t at = 0; at < devices.size(); ++at) {
    OB_RETURN_IF_ERROR(fabric->peer(at, (at + 1) % devices.size()).status());
  }
  return fabric;
}

RingFabric::RingFabric(std::vector<Station> stations, const FabricModel& model)
    : Fabric(std::move(stations)), model_(model), offered_(size()) {
  model_.route = Route::ring;
}

Result<PeerId> RingFabric::peer(std::size_t at, std::size_t other) {
  return peering(at).connect(inboxes_[other]);
}

Result<double> RingFabric::measure(std::size_t at, std::uint64_t bytes) {
  const std::size_t other = (at + 1) % size();
  DeviceBuffer source(device(at));
  DeviceBuffer target(device(other));
  double best = 0;
  const auto once = [&](std::uint64_t part) -> Status {
    const Region region{0, 1, Triangle::full, part, 1, part, 1};
    const auto start = std::chrono::steady_clock::now();
    OB_ASSIGN_OR_RETURN(const PeerId next, peer(at, other));
    OB_RETURN_IF_ERROR(
        peering(other).receive(station(other).in(), kProbe, target.id(), region, {}));
    OB_RETURN_IF_ERROR(peering(at).send(station(at).out(), next, kProbe, source.id(), region));
    OB_RETURN_IF_ERROR(peering(other).await(kProbe, [] { return false; }));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(part) / taken.count());
    return device(at).synchronize(station(at).out()).status;
  };
  const auto all = [&]() -> Status {
    OB_RETURN_IF_ERROR(source.allocate(bytes));
    OB_RETURN_IF_ERROR(target.allocate(bytes));
    for (const std::uint64_t part : {bytes / 16, bytes, bytes}) OB_RETURN_IF_ERROR(once(part));
    return {};
  };
  const Status status = all();
  if (status.ok()) return best;
  (void)peering(at).leave();
  (void)peering(other).leave();
  return status;
}

bool RingFabric::is_aborted() const {
  const std::lock_guard lock(mutex_);
  return !aborted_.ok();
}

Status RingFabric::offer(std::size_t at, ParcelTag tag, const Parcel& parcel,
                         std::span<const std::size_t> receivers) {
  Station& here = station(at);
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.out()));
  if (receivers.empty()) return {};
  if (parcel.regions.size() > kMostRegions) {
    return {Code::internal, "a parcel of too many regions"};
  }
  OB_ASSIGN_OR_RETURN(const PeerId first, peer(at, receivers.front()));
  for (std::size_t r = 0; r < parcel.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(
        peering(at).send(here.out(), first, number_of(tag, r), parcel.buffer, parcel.regions[r]));
  }
  offered_[at].push_back(tag);
  const std::lock_guard lock(mutex_);
  Journey& journey = journeys_[tag];
  journey.left = 1;
  journey.stops.push_back(at);
  journey.stops.insert(journey.stops.end(), receivers.begin(), receivers.end());
  changed_.notify_all();
  return {};
}

Status RingFabric::deliver(std::size_t at) {
  if (offered_[at].empty()) return {};
  const std::lock_guard lock(mutex_);
  // none: nobody wants it
  if (const auto found = journeys_.find(offered_[at].back()); found != journeys_.end()) {
    found->second.delivered = true;
    changed_.notify_all();
  }
  return {};
}

template <class Predicate>
Status RingFabric::await_others(std::size_t at, std::unique_lock<std::mutex>& lock,
                                Predicate over) {
  const auto ends = [&] { return !aborted_.ok() || over(); };
  OB_RETURN_IF_ERROR(watchful_wait(changed_, lock, ends, [this, at] { return check(at); }));
  return aborted_;
}

Status RingFabric::await_arrival(std::size_t at, ParcelTag tag, std::size_t stop) {
  std::unique_lock lock(mutex_);
  return await_others(at, lock, [&] {
    const auto found = journeys_.find(tag);  // none: it has arrived everywhere
    return found == journeys_.end() || found->second.arrived > stop;
  });
}

Status RingFabric::await_home(std::size_t at) {
  for (const ParcelTag tag : std::exchange(offered_[at], {})) {
    OB_RETURN_IF_ERROR(await_arrival(at, tag, 1));
  }
  return Fabric::await_home(at);
}

Status RingFabric::take(std::size_t at, ParcelTag tag, const Parcel& parcel, std::size_t slot) {
  OB_RETURN_IF_ERROR(await_slot(at, slot));
  std::size_t stop = 0;
  PeerId next;
  {
    std::unique_lock lock(mutex_);
    OB_RETURN_IF_ERROR(await_others(at, lock, [&] { return journeys_.count(tag) != 0; }));
    const std::vector<std::size_t>& stops = journeys_[tag].stops;
    stop = static_cast<std::size_t>(std::find(stops.begin(), stops.end(), at) - stops.begin());
    if (stop + 1 < stops.size()) {
      const std::size_t other = stops[stop + 1];
      lock.unlock();
      OB_ASSIGN_OR_RETURN(next, peer(at, other));
    }
  }
  Station& here = station(at);
  for (std::size_t r = 0; r < parcel.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(
        peering(at).receive(here.in(), number_of(tag, r), parcel.buffer, parcel.regions[r], next));
  }
  for (std::size_t r = 0; r < parcel.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(peering(at).await(number_of(tag, r), [this] { return is_aborted(); }));
    account(at).received += packed_bytes(parcel.regions[r]);
  }
  std::unique_lock lock(mutex_);
  Journey& journey = journeys_[tag];
  journey.arrived = std::max(journey.arrived, stop + 1);
  changed_.notify_all();
  OB_RETURN_IF_ERROR(await_others(at, lock, [&] { return journey.delivered; }));
  if (++journey.left == journey.stops.size()) journeys_.erase(tag);
  return {};
}

void RingFabric::abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = why;
  changed_.notify_all();
}

Status RingFabric::finish(std::size_t at) {
  if (is_aborted()) (void)peering(at).leave();  // one that cannot is broken, and told so below
  return Fabric::finish(at);
}

}  // namespace ob::algorithms
