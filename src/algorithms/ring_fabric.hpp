#pragma once
// Devices that reach each other: what one has goes from device to device, past this process.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/fabric.hpp"
#include "device/peering.hpp"

namespace ob::algorithms {

/// A parcel goes from its owner to the first receiver and from each to the next, which hands it on
/// while it arrives; this process only says so.
/// Threads: as Fabric      Source: DAC III, V.B; algorithms 2, point 2
class RingFabric final : public Fabric {
 public:
  /// Connects each device to the next one.
  /// @param model what is known of the devices; `route` is ring whatever it says
  /// Errors: unsupported, unavailable or denied if they cannot reach each other
  static Result<std::unique_ptr<RingFabric>> create(std::span<Device* const> devices,
                                                    const FabricModel& model);

  /// How fast so many bytes go from a device to the next one.   @pre no rank runs
  /// Units: bytes, bytes/s   Errors: those of the devices, which have forgotten each other then
  Result<double> measure(std::size_t at, std::uint64_t bytes);

  FabricModel model() const override { return model_; }
  Status offer(std::size_t at, ParcelTag tag, const Parcel& parcel,
               std::span<const std::size_t> receivers) override;
  /// The parcel has been on its way since offer(); take() returns after this.
  Status deliver(std::size_t at) override;
  Status take(std::size_t at, ParcelTag tag, const Parcel& parcel, std::size_t slot) override;
  /// And until others have what this one offered: its memory may be used anew.
  Status await_home(std::size_t at) override;
  Status check(std::size_t at) override { return peering(at).check(); }
  void abort(const Status& why) override;
  /// After a failure the devices forget each other, so that nothing arrives late.
  Status finish(std::size_t at) override;

 private:
  // One parcel on its way round.
  struct Journey {
    std::vector<std::size_t> stops;  // its owner first
    std::size_t arrived = 1;         // at so many of them, in order
    bool delivered = false;
    std::size_t left = 0;  // stops that need this no more
  };

  RingFabric(std::vector<Station> stations, const FabricModel& model);
  Peering& peering(std::size_t at) const { return *device(at).peering(); }
  Result<PeerId> peer(std::size_t at, std::size_t other);
  Status await_arrival(std::size_t at, ParcelTag tag, std::size_t stop);
  template <class Predicate>
  Status await_others(std::size_t at, std::unique_lock<std::mutex>& lock, Predicate over);
  bool is_aborted() const;

  FabricModel model_;
  std::vector<Inbox> inboxes_;
  std::vector<std::vector<ParcelTag>> offered_;  // by rank, since await_home()   Threads: the rank
  mutable std::mutex mutex_;                     // of all below
  std::condition_variable changed_;
  std::map<ParcelTag, Journey> journeys_;
  Status aborted_;
};

}  // namespace ob::algorithms
