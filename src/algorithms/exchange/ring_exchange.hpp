#pragma once
// Devices that reach each other: panels travel from device to device, not through this process.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/exchange/panel_exchange.hpp"
#include "device/peering.hpp"

namespace ob::algorithms {

/// The owner sends a message to the first receiver, and each receiver forwards it to the next one
/// while it arrives. This process only submits the commands.
/// Threads: as PanelExchange      Source: DAC III, V.B; algorithms 2, point 2
class RingExchange final : public PanelExchange {
 public:
  /// Connects each device to the next one.
  /// @param model of the devices; `route` is always ring
  /// Errors: unsupported, unavailable or denied if they cannot reach each other
  static Result<std::unique_ptr<RingExchange>> create(std::span<Device* const> devices,
                                                      const ExchangeModel& model);

  /// Measures the rate from a device to the next one with this many bytes.   Units: bytes/s
  /// Errors: those of the devices; the connections between them are closed then
  /// @pre no rank runs
  Result<double> measure(Rank rank, std::uint64_t bytes);

  ExchangeModel model() const override { return model_; }
  Status post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                        std::span<const Rank> receivers) override;
  /// Lets receive() of the receivers return. The message has been travelling since
  /// post_broadcast().
  Status complete(Rank rank) override;
  Status receive(Rank rank, MessageTag tag, const PanelMessage& message, std::size_t slot) override;
  /// Also waits until the first receiver has every message that this rank posted, so that the
  /// memory of the messages may be reused.
  Status wait_results(Rank rank) override;
  Status check(Rank rank) override { return peering(rank).check(); }
  void abort(const Status& why) override;
  /// After a failure, closes the connections between the devices, so that no message arrives late.
  Status finish(Rank rank) override;

 private:
  // One message under way.
  struct Broadcast {
    std::vector<Rank> stops;  // the owner first
    std::size_t arrived = 1;  // the number of stops that have the message, in order
    bool completed = false;
    std::size_t left = 0;  // stops that are done with this
  };

  RingExchange(std::vector<DeviceQueues> device_queues, const ExchangeModel& model);
  Peering& peering(Rank rank) const { return *device(rank).peering(); }
  Rank next(Rank rank) const { return Rank((rank.value() + 1) % size()); }
  Result<PeerId> peer(Rank rank, Rank other);
  Status wait_arrival(Rank rank, MessageTag tag, std::size_t stop);
  template <class Predicate>
  Status wait_others(Rank rank, std::unique_lock<std::mutex>& lock, Predicate over);
  bool is_aborted() const;

  ExchangeModel model_;
  std::vector<Mailbox> mailboxes_;
  std::vector<std::vector<MessageTag>>
      posted_;                // by rank, since wait_results()   Threads: the rank
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::map<MessageTag, Broadcast> broadcasts_;
  Status aborted_;
};

}  // namespace ob::algorithms
