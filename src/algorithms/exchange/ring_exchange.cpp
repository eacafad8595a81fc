#include "algorithms/exchange/ring_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "algorithms/device_buffer.hpp"
#include "algorithms/exchange/checked_wait.hpp"

namespace ob::algorithms {
namespace {

// Of one message.
constexpr std::uint64_t kMostRegions = 16;

// A number that no message of a call has.
constexpr PeerMessageId kProbe{UINT64_MAX};

PeerMessageId number_of(MessageTag tag, std::size_t region) noexcept {
  return {tag * kMostRegions + region + 1};
}

}  // namespace

Result<std::unique_ptr<RingExchange>> RingExchange::create(std::span<Device* const> devices,
                                                           const ExchangeModel& model) {
  for (Device* device : devices) {
    if (device->peering() == nullptr) {
      return Status(Code::unsupported, "a device that others cannot reach");
    }
  }
  OB_ASSIGN_OR_RETURN(std::vector<DeviceQueues> device_queues, open_all(devices));
  std::unique_ptr<RingExchange> exchange(new RingExchange(std::move(device_queues), model));
  for (Device* device : devices) {
    OB_ASSIGN_OR_RETURN(Mailbox mailbox, device->peering()->mailbox());
    exchange->mailboxes_.push_back(std::move(mailbox));
  }
  for (std::size_t at = 0; at < devices.size(); ++at) {
    OB_RETURN_IF_ERROR(exchange->peer(at, (at + 1) % devices.size()).status());
  }
  return exchange;
}

RingExchange::RingExchange(std::vector<DeviceQueues> device_queues, const ExchangeModel& model)
    : PanelExchange(std::move(device_queues)), model_(model), posted_(size()) {
  model_.route = Route::ring;
}

Result<PeerId> RingExchange::peer(std::size_t at, std::size_t other) {
  return peering(at).connect(mailboxes_[other]);
}

Result<double> RingExchange::measure(std::size_t at, std::uint64_t bytes) {
  const std::size_t other = (at + 1) % size();
  DeviceBuffer source(device(at));
  DeviceBuffer target(device(other));
  double best = 0;
  const auto once = [&](std::uint64_t part) -> Status {
    const Region region{0, 1, Triangle::full, part, 1, part, 1};
    const auto start = std::chrono::steady_clock::now();
    OB_ASSIGN_OR_RETURN(const PeerId next, peer(at, other));
    OB_RETURN_IF_ERROR(peering(other).receive(queues(other).in(), kProbe, target.id(), region, {}));
    OB_RETURN_IF_ERROR(peering(at).send(queues(at).out(), next, kProbe, source.id(), region));
    OB_RETURN_IF_ERROR(peering(other).await(kProbe, [] { return false; }));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(part) / taken.count());
    return device(at).synchronize(queues(at).out()).status;
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

bool RingExchange::is_aborted() const {
  const std::lock_guard lock(mutex_);
  return !aborted_.ok();
}

Status RingExchange::post_broadcast(std::size_t at, MessageTag tag, const PanelMessage& message,
                                    std::span<const std::size_t> receivers) {
  DeviceQueues& here = queues(at);
  OB_RETURN_IF_ERROR(here.order(here.compute(), here.out()));
  if (receivers.empty()) return {};
  if (message.regions.size() > kMostRegions) {
    return {Code::internal, "a message of too many regions"};
  }
  OB_ASSIGN_OR_RETURN(const PeerId first, peer(at, receivers.front()));
  for (std::size_t r = 0; r < message.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(
        peering(at).send(here.out(), first, number_of(tag, r), message.buffer, message.regions[r]));
  }
  posted_[at].push_back(tag);
  const std::lock_guard lock(mutex_);
  Broadcast& broadcast = broadcasts_[tag];
  broadcast.left = 1;
  broadcast.stops.push_back(at);
  broadcast.stops.insert(broadcast.stops.end(), receivers.begin(), receivers.end());
  changed_.notify_all();
  return {};
}

Status RingExchange::complete(std::size_t at) {
  if (posted_[at].empty()) return {};
  const std::lock_guard lock(mutex_);
  // none: nobody wants it
  if (const auto found = broadcasts_.find(posted_[at].back()); found != broadcasts_.end()) {
    found->second.completed = true;
    changed_.notify_all();
  }
  return {};
}

template <class Predicate>
Status RingExchange::wait_others(std::size_t at, std::unique_lock<std::mutex>& lock,
                                 Predicate over) {
  const auto ends = [&] { return !aborted_.ok() || over(); };
  OB_RETURN_IF_ERROR(checked_wait(changed_, lock, ends, [this, at] { return check(at); }));
  return aborted_;
}

Status RingExchange::wait_arrival(std::size_t at, MessageTag tag, std::size_t stop) {
  std::unique_lock lock(mutex_);
  return wait_others(at, lock, [&] {
    const auto found = broadcasts_.find(tag);  // none: it has arrived everywhere
    return found == broadcasts_.end() || found->second.arrived > stop;
  });
}

Status RingExchange::wait_results(std::size_t at) {
  for (const MessageTag tag : std::exchange(posted_[at], {})) {
    OB_RETURN_IF_ERROR(wait_arrival(at, tag, 1));
  }
  return PanelExchange::wait_results(at);
}

Status RingExchange::receive(std::size_t at, MessageTag tag, const PanelMessage& message,
                             std::size_t slot) {
  OB_RETURN_IF_ERROR(wait_slot(at, slot));
  std::size_t stop = 0;
  PeerId next;
  {
    std::unique_lock lock(mutex_);
    OB_RETURN_IF_ERROR(wait_others(at, lock, [&] { return broadcasts_.count(tag) != 0; }));
    const std::vector<std::size_t>& stops = broadcasts_[tag].stops;
    stop = static_cast<std::size_t>(std::find(stops.begin(), stops.end(), at) - stops.begin());
    if (stop + 1 < stops.size()) {
      const std::size_t other = stops[stop + 1];
      lock.unlock();
      OB_ASSIGN_OR_RETURN(next, peer(at, other));
    }
  }
  DeviceQueues& here = queues(at);
  for (std::size_t r = 0; r < message.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(peering(at).receive(here.in(), number_of(tag, r), message.buffer,
                                           message.regions[r], next));
  }
  for (std::size_t r = 0; r < message.regions.size(); ++r) {
    OB_RETURN_IF_ERROR(peering(at).await(number_of(tag, r), [this] { return is_aborted(); }));
    account(at).received += packed_bytes(message.regions[r]);
  }
  std::unique_lock lock(mutex_);
  Broadcast& broadcast = broadcasts_[tag];
  broadcast.arrived = std::max(broadcast.arrived, stop + 1);
  changed_.notify_all();
  OB_RETURN_IF_ERROR(wait_others(at, lock, [&] { return broadcast.completed; }));
  if (++broadcast.left == broadcast.stops.size()) broadcasts_.erase(tag);
  return {};
}

void RingExchange::abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = why;
  changed_.notify_all();
}

Status RingExchange::finish(std::size_t at) {
  if (is_aborted()) (void)peering(at).leave();  // one that cannot is broken, and told so below
  return PanelExchange::finish(at);
}

}  // namespace ob::algorithms
