#include "algorithms/timed_fabric.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace ob::algorithms {
namespace {

// Of a wait that did not have to wait.
constexpr double kAtOnce = 100e-6;

double total_bytes(const Parcel& parcel) {
  double bytes = 0;
  for (const Region& region : parcel.regions) bytes += static_cast<double>(packed_bytes(region));
  return bytes;
}

}  // namespace

Result<std::unique_ptr<TimedFabric>> TimedFabric::create(std::span<Device* const> devices,
                                                         const FabricModel& model) {
  if (!model.known() || model.ranks.size() < devices.size()) {
    return Status(Code::invalid_argument, "the links to be simulated have no rates");
  }
  OB_ASSIGN_OR_RETURN(std::vector<Station> stations, open_all(devices));
  return std::unique_ptr<TimedFabric>(new TimedFabric(std::move(stations), model));
}

TimedFabric::TimedFabric(std::vector<Station> stations, const FabricModel& model)
    : Fabric(std::move(stations)), model_(model), links_(model), home_at_(size()) {}

void TimedFabric::sleep_until(double time) const {
  std::this_thread::sleep_until(
      start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time)));
}

// As over a stream: its owner may use the memory again, and the device has it, when this returns.
Status TimedFabric::send(std::size_t at, const Layout& source, BufferId /*buffer*/,
                         const Region& /*region*/) {
  account(at).sent += source.total_bytes();
  double arrival = 0;
  {
    const std::lock_guard lock(mutex_);
    arrival = links_.send(at, static_cast<double>(source.total_bytes()), now());
  }
  sleep_until(arrival);
  return {};
}

Status TimedFabric::fetch(std::size_t at, BufferId /*buffer*/, const Region& /*region*/,
                          const Layout& destination) {
  Station& here = station(at);
  account(at).fetched += destination.total_bytes();
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.back()));
  OB_RETURN_IF_ERROR(here.order(here.out(), here.back()));  // others wait for their parcel
  const auto bytes = static_cast<double>(destination.total_bytes());
  return here.device().on_reached(here.back(), false, [this, at, bytes](const QueueReport&) {
    const std::lock_guard lock(mutex_);
    for (auto& [tag, journey] : journeys_) {
      const bool leaves = journey.stops.front() == at && journey.passings.size() == 1;
      if (!leaves || model_.route == Route::relay) continue;
      journey.behind_bytes.push_back(bytes);  // others wait for the parcel, nobody for this
      return;
    }
    send_home(at, bytes, now());
  });
}

Status TimedFabric::offer(std::size_t at, ParcelTag tag, const Parcel& parcel,
                          std::span<const std::size_t> receivers) {
  Station& here = station(at);
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.out()));
  if (receivers.empty()) return {};
  {
    const std::lock_guard lock(mutex_);
    Journey& journey = journeys_[tag];
    journey.stops.push_back(at);
    journey.stops.insert(journey.stops.end(), receivers.begin(), receivers.end());
  }
  return here.device().on_reached(
      here.out(), false,
      [this, tag, bytes = total_bytes(parcel)](const QueueReport&) { set_off(tag, bytes); });
}

void TimedFabric::send_home(std::size_t at, double bytes, double ready) {
  home_at_[at] = std::max(home_at_[at], links_.fetch(at, bytes, ready));
}

// True while results wait for a parcel that nobody has taken yet.
bool TimedFabric::is_leaving(std::size_t at) const {
  return std::any_of(journeys_.begin(), journeys_.end(), [&](const auto& entry) {
    return entry.second.stops.front() == at && !entry.second.behind_bytes.empty();
  });
}

void TimedFabric::set_off(ParcelTag tag, double bytes) {
  const std::lock_guard lock(mutex_);
  Journey& journey = journeys_[tag];
  const double ready = now();
  journey.passings.push_back({ready, {}});
  if (model_.route == Route::relay) {
    journey.relayed = links_.up(journey.stops.front(), bytes, ready);
  }
  changed_.notify_all();
}

// @pre the stop before has its times
double TimedFabric::pass_to(Journey& journey, std::size_t at, double bytes, double free) {
  const std::size_t stop = journey.passings.size();
  const LinkClock::Passing there =
      model_.route == Route::relay
          ? links_.down(at, bytes, journey.relayed, free)
          : links_.forward(journey.stops[stop - 1], at, bytes, journey.passings.back(), free);
  journey.passings.push_back(there);
  const double ready = journey.passings.front().ready;
  for (const double behind : std::exchange(journey.behind_bytes, {})) {
    send_home(journey.stops.front(), behind, ready);
  }
  changed_.notify_all();
  return there.last();
}

Status TimedFabric::take(std::size_t at, ParcelTag tag, const Parcel& parcel, std::size_t slot) {
  Station& here = station(at);
  const double asked = now();
  OB_RETURN_IF_ERROR(here.in_after(slot));
  OB_RETURN_IF_ERROR(here.device().synchronize(here.in()).status);
  const double had = now();
  // Nothing is received for a rank that is busy elsewhere.
  const double free = had - asked > kAtOnce ? had : asked;
  const double bytes = total_bytes(parcel);
  account(at).received += static_cast<std::uint64_t>(bytes);
  double arrival = 0;
  {
    std::unique_lock lock(mutex_);
    const auto its_turn = [&] {
      const auto found = journeys_.find(tag);
      if (found == journeys_.end()) return false;
      const Journey& journey = found->second;
      const std::size_t reached = journey.passings.size();
      return reached > 0 && reached < journey.stops.size() && journey.stops[reached] == at;
    };
    changed_.wait(lock, [&] { return !aborted_.ok() || its_turn(); });
    if (!aborted_.ok()) return aborted_;
    Journey& journey = journeys_[tag];
    arrival = pass_to(journey, at, bytes, free);
    if (journey.passings.size() == journey.stops.size()) journeys_.erase(tag);
  }
  sleep_until(arrival);
  return {};
}

void TimedFabric::abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = why;
  changed_.notify_all();
}

Status TimedFabric::await_slot(std::size_t at, std::size_t slot) {
  Station& here = station(at);
  OB_RETURN_IF_ERROR(here.in_after(slot));
  return here.device().synchronize(here.in()).status;
}

Status TimedFabric::await_home(std::size_t at) {
  const Status status = Fabric::await_home(at);
  sleep_until_home(at, status);
  return status;
}

Status TimedFabric::finish(std::size_t at) {
  const Status status = Fabric::finish(at);
  sleep_until_home(at, status);
  return status;
}

void TimedFabric::sleep_until_home(std::size_t at, const Status& status) {
  double home = 0;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !status.ok() || !aborted_.ok() || !is_leaving(at); });
    home = home_at_[at];
  }
  if (status.ok()) sleep_until(home);
}

}  // namespace ob::algorithms
