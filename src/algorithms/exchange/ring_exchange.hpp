#pragma once
// Devices that reach each other: what one has goes from device to device, past this process.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/exchange/panel_exchange.hpp"
#include "device/peering.hpp"

namespace ob::algorithms {

/// A message goes from its owner to the first receiver and from each to the next, which hands it on
/// while it arrives; this process only says so.
/// Threads: as PanelExchange      Source: DAC III, V.B; algorithms 2, point 2
class RingExchange final : public PanelExchange {
 public:
  /// Connects each device to the next one.
  /// @param model what is known of the devices; `route` is ring whatever it says
  /// Errors: unsupported, unavailable or denied if they cannot reach each other
  static Result<std::unique_ptr<RingExchange>> create(std::span<Device* const> devices,
                                                      const ExchangeModel& model);

  /// How fast so many bytes go from a device to the next one.   @pre no rank runs
  /// Units: bytes, bytes/s   Errors: those of the devices, which have forgotten each other then
  Result<double> measure(Rank rank, std::uint64_t bytes);

  ExchangeModel model() const override { return model_; }
  Status post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                        std::span<const Rank> receivers) override;
  /// The message has been on its way since post_broadcast(); receive() returns after this.
  Status complete(Rank rank) override;
  Status receive(Rank rank, MessageTag tag, const PanelMessage& message, std::size_t slot) override;
  /// And until others have what this one offered: its memory may be used anew.
  Status wait_results(Rank rank) override;
  Status check(Rank rank) override { return peering(rank).check(); }
  void abort(const Status& why) override;
  /// After a failure the devices forget each other, so that nothing arrives late.
  Status finish(Rank rank) override;

 private:
  // One message on its way round.
  struct Broadcast {
    std::vector<Rank> stops;  // its owner first
    std::size_t arrived = 1;  // at so many of them, in order
    bool completed = false;
    std::size_t left = 0;  // stops that need this no more
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
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::map<MessageTag, Broadcast> broadcasts_;
  Status aborted_;
};

}  // namespace ob::algorithms
