#pragma once
// Devices that know nothing of each other: what one has gets to the others through this process.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithms/fabric.hpp"
#include "algorithms/host_scratch.hpp"

namespace ob::algorithms {

/// Any mix of devices. A parcel is read once, block by block, and written to each receiver while
/// later blocks are still on their way here.
/// Threads: as Fabric      Memory: each parcel under way, in this process
class HostFabric final : public Fabric {
 public:
  /// @param model what is known of the devices; `route` is relay whatever it says
  static Result<std::unique_ptr<HostFabric>> create(std::span<Device* const> devices,
                                                    const FabricModel& model);
  ~HostFabric() override = default;

  FabricModel model() const override { return model_; }
  Status offer(std::size_t at, ParcelTag tag, const Parcel& parcel,
               std::span<const std::size_t> receivers) override;
  Status deliver(std::size_t at) override;
  Status take(std::size_t at, ParcelTag tag, const Parcel& parcel, std::size_t slot) override;
  void abort(const Status& why) override;
  Status finish(std::size_t at) override;

 private:
  // One parcel in this process.
  struct Staged {
    Parcel parcel;                    // at its owner
    std::vector<HostScratch> memory;  // of each region
    std::size_t blocks_here = 0;      // of all regions, in order
    std::size_t receivers_left = 0;
  };
  HostFabric(std::vector<Station> stations, const FabricModel& model);
  Status wait_for(ParcelTag tag, std::shared_ptr<Staged>& staged);
  Status wait_for_block(const Staged& staged, std::size_t block);

  FabricModel model_;
  std::vector<std::shared_ptr<Staged>> offered_;  // by each rank, not delivered yet
  // What a rank's device may still be reading from.   Threads: the rank
  std::vector<std::deque<std::shared_ptr<Staged>>> in_use_;
  std::mutex mutex_;  // of all below, and of the counters of what is staged
  std::condition_variable changed_;
  std::map<ParcelTag, std::shared_ptr<Staged>> staged_;
  Status aborted_;
};

}  // namespace ob::algorithms
