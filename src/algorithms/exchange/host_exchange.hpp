#pragma once
// Devices that do not reach each other: panels travel through this process.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/exchange/panel_exchange.hpp"
#include "base/host_scratch.hpp"

namespace ob::algorithms {

/// Works with any mix of devices. A message is read once, block by block, and each block is written
/// to the receivers while later blocks still arrive.
/// Threads: as PanelExchange      Memory: a copy of each message under way, in this process
class HostExchange final : public PanelExchange {
 public:
  /// @param model of the devices; `route` is always relay
  static Result<std::unique_ptr<HostExchange>> create(std::span<Device* const> devices,
                                                      const ExchangeModel& model);
  ~HostExchange() override = default;

  ExchangeModel model() const override { return model_; }
  Status post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                        std::span<const Rank> receivers) override;
  Status complete(Rank rank) override;
  Status receive(Rank rank, MessageTag tag, const PanelMessage& message, std::size_t slot) override;
  void abort(const Status& why) override;
  Status finish(Rank rank) override;

 private:
  // One message in this process.
  struct Staged {
    PanelMessage message;             // the message at its owner
    std::vector<HostScratch> memory;  // memory for each region
    std::size_t blocks_here = 0;      // arrived blocks of all regions, in order
    std::size_t receivers_left = 0;
  };
  HostExchange(std::vector<DeviceQueues> device_queues, const ExchangeModel& model);
  Status wait_for(MessageTag tag, std::shared_ptr<Staged>& staged);
  Status wait_for_block(const Staged& staged, std::size_t block);

  ExchangeModel model_;
  std::vector<std::shared_ptr<Staged>> posted_;  // by each rank, not completed yet
  // Messages that the device of a rank may still read.   Threads: the rank
  std::vector<std::deque<std::shared_ptr<Staged>>> in_use_;
  std::mutex mutex_;  // guards all below, and the counters of Staged
  std::condition_variable changed_;
  std::map<MessageTag, std::shared_ptr<Staged>> staged_;
  Status aborted_;
};

}  // namespace ob::algorithms
