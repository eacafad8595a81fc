#include "algorithms/exchange/ring_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "algorithms/device_buffer.hpp"
#include "algorithms/exchange/checked_wait.hpp"

namespace ob::algorithms {
namespace {

// The regions of one message, at most.
constexpr std::uint64_t kMostRegions = 16;

// A number that no message of a call has, for measurements.
constexpr PeerMessageId kProbe{UINT64_MAX};

PeerMessageId number_of(MessageTag tag, std::size_t region) noexcept {
  return {tag * kMostRegions + region + 1};
}

}  // namespace

Result<std::unique_ptr<RingExchange>> RingExchange::create(std::span<Device* const> devices,
                                                           const ExchangeModel& model) {
  for (Device* device : devices) {
    if (device->peering() == nullptr) {
      return Status(Code::unsupported, "other devices cannot reach a device");
    }
  }
  OB_ASSIGN_OR_RETURN(std::vector<DeviceQueues> device_queues, open_all(devices));
  std::unique_ptr<RingExchange> exchange(new RingExchange(std::move(device_queues), model));
  for (Device* device : devices) {
    OB_ASSIGN_OR_RETURN(Mailbox mailbox, device->peering()->mailbox());
    exchange->mailboxes_.push_back(std::move(mailbox));
  }
  for (Rank rank; rank.value() < devices.size(); ++rank) {
    OB_RETURN_IF_ERROR(exchange->peer(rank, exchange->next(rank)).status());
  }
  return exchange;
}

RingExchange::RingExchange(std::vector<DeviceQueues> device_queues, const ExchangeModel& model)
    : PanelExchange(std::move(device_queues)), model_(model), posted_(size()) {
  model_.route = Route::ring;
}

Result<PeerId> RingExchange::peer(Rank rank, Rank other) {
  return peering(rank).connect(mailboxes_[other.value()]);
}

Result<double> RingExchange::measure(Rank rank, std::uint64_t bytes) {
  const Rank other = next(rank);
  DeviceBuffer source(device(rank));
  DeviceBuffer target(device(other));
  double best = 0;
  const auto once = [&](std::uint64_t part) -> Status {
    const Region region{0, 1, Triangle::full, part, 1, part, 1};
    const auto start = std::chrono::steady_clock::now();
    OB_ASSIGN_OR_RETURN(const PeerId link, peer(rank, other));
    OB_RETURN_IF_ERROR(peering(other).receive(queues(other).in(), kProbe, target.id(), region, {}));
    OB_RETURN_IF_ERROR(peering(rank).send(queues(rank).out(), link, kProbe, source.id(), region));
    OB_RETURN_IF_ERROR(peering(other).await(kProbe, [] { return false; }));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(part) / taken.count());
    return device(rank).synchronize(queues(rank).out()).status;
  };
  const auto all = [&]() -> Status {
    OB_RETURN_IF_ERROR(source.allocate(bytes));
    OB_RETURN_IF_ERROR(target.allocate(bytes));
    for (const std::uint64_t part : {bytes / 16, bytes, bytes}) OB_RETURN_IF_ERROR(once(part));
    return {};
  };
  const Status status = all();
  if (status.ok()) return best;
  (void)peering(rank).leave();
  (void)peering(other).leave();
  return status;
}

bool RingExchange::is_aborted() const {
  const std::lock_guard lock(mutex_);
  return !aborted_.ok();
}

Status RingExchange::post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                                    std::span<const Rank> receivers) {
  DeviceQueues& here = queues(rank);
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.out()));
  if (receivers.empty()) return {};
  if (message.regions.size() > kMostRegions) {
    return {Code::internal, "a message of too many regions"};
  }
  OB_ASSIGN_OR_RETURN(const PeerId first, peer(rank, receivers.front()));
  for (std::size_t r = 0; r < message.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(peering(rank).send(here.out(), first, number_of(tag, r), message.buffer,
                                          message.regions[r]));
  }
  posted_[rank.value()].push_back(tag);
  const std::lock_guard lock(mutex_);
  Broadcast& broadcast = broadcasts_[tag];
  broadcast.left = 1;
  broadcast.stops.push_back(rank);
  broadcast.stops.insert(broadcast.stops.end(), receivers.begin(), receivers.end());
  changed_.notify_all();
  return {};
}

Status RingExchange::complete(Rank rank) {
  if (posted_[rank.value()].empty()) return {};
  const std::lock_guard lock(mutex_);
  // a broadcast without receivers was not posted
  if (const auto found = broadcasts_.find(posted_[rank.value()].back());
      found != broadcasts_.end()) {
    found->second.completed = true;
    changed_.notify_all();
  }
  return {};
}

template <class Predicate>
Status RingExchange::wait_others(Rank rank, std::unique_lock<std::mutex>& lock, Predicate over) {
  const auto ends = [&] { return !aborted_.ok() || over(); };
  OB_RETURN_IF_ERROR(checked_wait(changed_, lock, ends, [this, rank] { return check(rank); }));
  return aborted_;
}

Status RingExchange::wait_arrival(Rank rank, MessageTag tag, std::size_t stop) {
  std::unique_lock lock(mutex_);
  return wait_others(rank, lock, [&] {
    const auto found = broadcasts_.find(tag);  // not found: it has arrived everywhere
    return found == broadcasts_.end() || found->second.arrived > stop;
  });
}

Status RingExchange::wait_results(Rank rank) {
  for (const MessageTag tag : std::exchange(posted_[rank.value()], {})) {
    OB_RETURN_IF_ERROR(wait_arrival(rank, tag, 1));
  }
  return PanelExchange::wait_results(rank);
}

Status RingExchange::receive(Rank rank, MessageTag tag, const PanelMessage& message,
                             std::size_t slot) {
  OB_RETURN_IF_ERROR(wait_slot(rank, slot));
  std::size_t stop = 0;
  PeerId next;
  {
    std::unique_lock lock(mutex_);
    OB_RETURN_IF_ERROR(wait_others(rank, lock, [&] { return broadcasts_.count(tag) != 0; }));
    const std::vector<Rank>& stops = broadcasts_[tag].stops;
    stop = static_cast<std::size_t>(std::find(stops.begin(), stops.end(), rank) - stops.begin());
    if (stop + 1 < stops.size()) {
      const Rank other = stops[stop + 1];
      lock.unlock();
      OB_ASSIGN_OR_RETURN(next, peer(rank, other));
    }
  }
  DeviceQueues& here = queues(rank);
  for (std::size_t r = 0; r < message.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(peering(rank).receive(here.in(), number_of(tag, r), message.buffer,
                                             message.regions[r], next));
  }
  for (std::size_t r = 0; r < message.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(peering(rank).await(number_of(tag, r), [this] { return is_aborted(); }));
    account(rank).received += packed_bytes(message.regions[r]);
  }
  std::unique_lock lock(mutex_);
  Broadcast& broadcast = broadcasts_[tag];
  broadcast.arrived = std::max(broadcast.arrived, stop + 1);
  changed_.notify_all();
  OB_RETURN_IF_ERROR(wait_others(rank, lock, [&] { return broadcast.completed; }));
  if (++broadcast.left == broadcast.stops.size()) broadcasts_.erase(tag);
  return {};
}

void RingExchange::abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = why;
  changed_.notify_all();
}

Status RingExchange::finish(Rank rank) {
  if (is_aborted())
    (void)peering(rank).leave();  // a device that cannot is lost, which finish() reports
  return PanelExchange::finish(rank);
}

}  // namespace ob::algorithms
