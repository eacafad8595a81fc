#pragma once
// A fabric whose links exist only in time, for devices that compute nothing.

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/fabric.hpp"
#include "algorithms/link_clock.hpp"

namespace ob::algorithms {

/// Copies nothing; everything arrives when it would over the links of the model. With devices that
/// keep time as well, an algorithm runs as it would on machines that are not there.
/// Threads: as Fabric
class TimedFabric final : public Fabric {
 public:
  /// @param model of which the links are simulated; ranks for the devices
  static Result<std::unique_ptr<TimedFabric>> create(std::span<Device* const> devices,
                                                     const FabricModel& model);

  FabricModel model() const override { return model_; }
  Status send(std::size_t at, const Layout& source, BufferId buffer, const Region& region) override;
  Status fetch(std::size_t at, BufferId buffer, const Region& region,
               const Layout& destination) override;
  Status offer(std::size_t at, ParcelTag tag, const Parcel& parcel,
               std::span<const std::size_t> receivers) override;
  Status deliver(std::size_t /*at*/) override { return {}; }
  Status take(std::size_t at, ParcelTag tag, const Parcel& parcel, std::size_t slot) override;
  Status await_slot(std::size_t at, std::size_t slot) override;
  Status await_home(std::size_t at) override;
  void abort(const Status& why) override;
  Status finish(std::size_t at) override;

 private:
  using Clock = std::chrono::steady_clock;
  // One parcel on its way round.
  struct Journey {
    std::vector<std::size_t> stops;            // its owner first
    std::vector<LinkClock::Passing> passings;  // of stops that it has reached or will
    LinkClock::Passing relayed;                // in this process
    std::vector<double> behind_bytes;          // what its owner sends home behind it
  };
  TimedFabric(std::vector<Station> stations, const FabricModel& model);
  double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void sleep_until(double time) const;
  void set_off(ParcelTag tag, double bytes);
  void send_home(std::size_t at, double bytes, double ready);
  bool is_leaving(std::size_t at) const;
  void sleep_until_home(std::size_t at, const Status& status);
  double pass_to(Journey& journey, std::size_t at, double bytes, double free);

  const FabricModel model_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  LinkClock links_;
  std::map<ParcelTag, Journey> journeys_;
  std::vector<double> home_at_;  // what each device has sent home
  Status aborted_;
};

}  // namespace ob::algorithms
