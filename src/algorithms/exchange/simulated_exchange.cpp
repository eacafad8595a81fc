#include "algorithms/exchange/simulated_exchange.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace ob::algorithms {
namespace {

// A wait that takes at most this long did not have to wait.
constexpr double kAtOnce = 100e-6;

double total_bytes(const PanelMessage& message) {
  double bytes = 0;
  for (const Region& region : message.regions) bytes += static_cast<double>(packed_bytes(region));
  return bytes;
}

}  // namespace

Result<std::unique_ptr<SimulatedExchange>> SimulatedExchange::create(
    std::span<Device* const> devices, const ExchangeModel& model) {
  if (!model.known() || model.ranks.size() < devices.size()) {
    return Status(Code::invalid_argument, "the links to be simulated have no rates");
  }
  OB_ASSIGN_OR_RETURN(std::vector<DeviceQueues> device_queues, open_all(devices));
  return std::unique_ptr<SimulatedExchange>(new SimulatedExchange(std::move(device_queues), model));
}

SimulatedExchange::SimulatedExchange(std::vector<DeviceQueues> device_queues,
                                     const ExchangeModel& model)
    : PanelExchange(std::move(device_queues)), model_(model), links_(model), home_at_(size()) {}

void SimulatedExchange::sleep_until(double time) const {
  std::this_thread::sleep_until(
      start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time)));
}

// Returns when the operand is on the device, as over a stream.
Status SimulatedExchange::send(Rank rank, const Layout& source, BufferId /*buffer*/,
                               const Region& /*region*/) {
  account(rank).sent += source.total_bytes();
  double arrival = 0;
  {
    const std::lock_guard lock(mutex_);
    arrival = links_.send(rank.value(), static_cast<double>(source.total_bytes()), now());
  }
  sleep_until(arrival);
  return {};
}

Status SimulatedExchange::fetch(Rank rank, BufferId /*buffer*/, const Region& /*region*/,
                                const Layout& destination) {
  DeviceQueues& here = queues(rank);
  account(rank).fetched += destination.total_bytes();
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.back()));
  OB_RETURN_IF_ERROR(here.order(here.out(), here.back()));  // messages for other devices go first
  const auto bytes = static_cast<double>(destination.total_bytes());
  return here.device().on_reached(here.back(), false, [this, rank, bytes](const QueueReport&) {
    const std::lock_guard lock(mutex_);
    for (auto& [tag, broadcast] : broadcasts_) {
      const bool leaves = broadcast.stops.front() == rank && broadcast.passings.size() == 1;
      if (!leaves || model_.route == Route::relay) continue;
      broadcast.behind_bytes.push_back(
          bytes);  // other devices wait for the message, but not for this result
      return;
    }
    send_home(rank, bytes, now());
  });
}

Status SimulatedExchange::post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                                         std::span<const Rank> receivers) {
  DeviceQueues& here = queues(rank);
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.out()));
  if (receivers.empty()) return {};
  {
    const std::lock_guard lock(mutex_);
    Broadcast& broadcast = broadcasts_[tag];
    broadcast.stops.push_back(rank);
    broadcast.stops.insert(broadcast.stops.end(), receivers.begin(), receivers.end());
  }
  return here.device().on_reached(
      here.out(), false,
      [this, tag, bytes = total_bytes(message)](const QueueReport&) { set_off(tag, bytes); });
}

void SimulatedExchange::send_home(Rank rank, double bytes, double ready) {
  home_at_[rank.value()] =
      std::max(home_at_[rank.value()], links_.fetch(rank.value(), bytes, ready));
}

// True while results wait for a message that no receiver has received yet.
bool SimulatedExchange::is_leaving(Rank rank) const {
  return std::any_of(broadcasts_.begin(), broadcasts_.end(), [&](const auto& entry) {
    return entry.second.stops.front() == rank && !entry.second.behind_bytes.empty();
  });
}

void SimulatedExchange::set_off(MessageTag tag, double bytes) {
  const std::lock_guard lock(mutex_);
  Broadcast& broadcast = broadcasts_[tag];
  const double ready = now();
  broadcast.passings.push_back({ready, {}});
  if (model_.route == Route::relay) {
    broadcast.relayed = links_.up(broadcast.stops.front().value(), bytes, ready);
  }
  changed_.notify_all();
}

// @pre the stop before has its times
double SimulatedExchange::pass_to(Broadcast& broadcast, Rank rank, double bytes, double free) {
  const std::size_t stop = broadcast.passings.size();
  const LinkClock::Passing there =
      model_.route == Route::relay ? links_.down(rank.value(), bytes, broadcast.relayed, free)
                                   : links_.forward(broadcast.stops[stop - 1].value(), rank.value(),
                                                    bytes, broadcast.passings.back(), free);
  broadcast.passings.push_back(there);
  const double ready = broadcast.passings.front().ready;
  for (const double behind : std::exchange(broadcast.behind_bytes, {})) {
    send_home(broadcast.stops.front(), behind, ready);
  }
  changed_.notify_all();
  return there.last();
}

Status SimulatedExchange::receive(Rank rank, MessageTag tag, const PanelMessage& message,
                                  std::size_t slot) {
  DeviceQueues& here = queues(rank);
  const double asked = now();
  OB_RETURN_IF_ERROR(here.wait_slot(slot));
  OB_RETURN_IF_ERROR(here.device().synchronize(here.in()).status);
  const double had = now();
  // A rank that was busy receives only from now on.
  const double free = had - asked > kAtOnce ? had : asked;
  const double bytes = total_bytes(message);
  account(rank).received += static_cast<std::uint64_t>(bytes);
  double arrival = 0;
  {
    std::unique_lock lock(mutex_);
    const auto its_turn = [&] {
      const auto found = broadcasts_.find(tag);
      if (found == broadcasts_.end()) return false;
      const Broadcast& broadcast = found->second;
      const std::size_t reached = broadcast.passings.size();
      return reached > 0 && reached < broadcast.stops.size() && broadcast.stops[reached] == rank;
    };
    changed_.wait(lock, [&] { return !aborted_.ok() || its_turn(); });
    if (!aborted_.ok()) return aborted_;
    Broadcast& broadcast = broadcasts_[tag];
    arrival = pass_to(broadcast, rank, bytes, free);
    if (broadcast.passings.size() == broadcast.stops.size()) broadcasts_.erase(tag);
  }
  sleep_until(arrival);
  return {};
}

void SimulatedExchange::abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = why;
  changed_.notify_all();
}

Status SimulatedExchange::wait_slot(Rank rank, std::size_t slot) {
  DeviceQueues& here = queues(rank);
  OB_RETURN_IF_ERROR(here.wait_slot(slot));
  return here.device().synchronize(here.in()).status;
}

Status SimulatedExchange::wait_results(Rank rank) {
  const Status status = PanelExchange::wait_results(rank);
  sleep_until_home(rank, status);
  return status;
}

Status SimulatedExchange::finish(Rank rank) {
  const Status status = PanelExchange::finish(rank);
  sleep_until_home(rank, status);
  return status;
}

void SimulatedExchange::sleep_until_home(Rank rank, const Status& status) {
  double home = 0;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !status.ok() || !aborted_.ok() || !is_leaving(rank); });
    home = home_at_[rank.value()];
  }
  if (status.ok()) sleep_until(home);
}

}  // namespace ob::algorithms
