#pragma once
// An exchange with simulated links, for devices that compute nothing.

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/exchange/link_clock.hpp"
#include "algorithms/exchange/panel_exchange.hpp"

namespace ob::algorithms {

/// Copies nothing. Each function takes the time that the links of the model would take. With
/// devices that simulate their time as well, an algorithm runs as on the machines of the model.
/// Threads: as PanelExchange
class SimulatedExchange final : public PanelExchange {
 public:
  /// @param model of the links; it has a rank for each device
  static Result<std::unique_ptr<SimulatedExchange>> create(std::span<Device* const> devices,
                                                           const ExchangeModel& model);

  ExchangeModel model() const override { return model_; }
  Status send(Rank rank, const Layout& source, BufferId buffer, const Region& region) override;
  Status fetch(Rank rank, BufferId buffer, const Region& region,
               const Layout& destination) override;
  Status post_broadcast(Rank rank, MessageTag tag, const PanelMessage& message,
                        std::span<const Rank> receivers) override;
  Status complete(Rank /*rank*/) override { return {}; }
  Status receive(Rank rank, MessageTag tag, const PanelMessage& message, std::size_t slot) override;
  Status wait_slot(Rank rank, std::size_t slot) override;
  Status wait_results(Rank rank) override;
  void abort(const Status& why) override;
  Status finish(Rank rank) override;

 private:
  using Clock = std::chrono::steady_clock;
  // One message under way.
  struct Broadcast {
    std::vector<Rank> stops;                   // its owner first
    std::vector<LinkClock::Passing> passings;  // of the stops that it reaches
    LinkClock::Passing relayed;                // the way through this process
    std::vector<double> behind_bytes;          // results of its owner that wait behind it
  };
  SimulatedExchange(std::vector<DeviceQueues> device_queues, const ExchangeModel& model);
  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void sleep_until(double time) const;
  void set_off(MessageTag tag, double bytes);
  void send_home(Rank rank, double bytes, double ready);
  bool is_leaving(Rank rank) const;
  void sleep_until_home(Rank rank, const Status& status);
  double pass_to(Broadcast& broadcast, Rank rank, double bytes, double free);

  const ExchangeModel model_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  LinkClock links_;
  std::map<MessageTag, Broadcast> broadcasts_;
  std::vector<double> home_at_;  // time of each device's last result at home
  Status aborted_;
};

}  // namespace ob::algorithms
