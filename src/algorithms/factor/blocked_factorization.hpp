#pragma once
// The steps that Cholesky, LU and QR over several devices share.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "algorithms/exchange/ordered_gate.hpp"
#include "algorithms/exchange/panel_exchange.hpp"
#include "algorithms/factor/column_distribution.hpp"
#include "algorithms/factor/indices.hpp"
#include "algorithms/factor/plan.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob::algorithms {

/// A factorization of column blocks that are distributed over the devices of an exchange.
/// Within a slab it is right-looking: the owner factors a panel and broadcasts it, and all devices
/// update their blocks with it. With look-ahead 1, the next panel is factored and broadcast before
/// the rest is updated. Blocks are sent in the order in which they become panels, and return as
/// soon as they are final. A matrix that does not fit on the devices at once is factored slab after
/// slab, left-looking: each slab reloads the panels of earlier slabs from the host, one after the
/// other, on each device.
/// Threads: run() by one thread; functions with a `rank` by the thread of that rank only
/// Source:  algorithms 1 (out of core), 2; DAC V.B
class BlockedFactorization {
 public:
  BlockedFactorization(const BlockedFactorization&) = delete;
  BlockedFactorization& operator=(const BlockedFactorization&) = delete;
  virtual ~BlockedFactorization() = default;

  /// Runs all ranks and waits for them. The results are in host memory then.
  /// Errors: those of the devices and the exchange. No command is under way afterwards.
  Status run();
  /// Frees the memory on the devices.   @pre run() has returned
  virtual void release_devices() = 0;

 protected:
  /// @param end_panel blocks before it are factored, the others only updated
  /// @pre distribution.devices() == exchange.size()
  BlockedFactorization(PanelExchange& exchange, ColumnDistribution distribution,
                       BlockIndex end_panel)
      : exchange_(exchange),
        distribution_(std::move(distribution)),
        end_panel_(end_panel),
        slab_(distribution_.devices()),
        end_sent_(distribution_.devices()),
        send_gate_(exchange.model().links_of_client()),
        results_gate_(1) {}

  /// Allocates memory on the device, enough for every slab.
  virtual Status allocate(Rank rank) = 0;
  virtual Status send_block(Rank rank, BlockIndex block) = 0;
  /// Fetches a final block to the host.
  virtual Status fetch_block(Rank rank, BlockIndex block) = 0;
  /// Factors an own block, which becomes a panel.
  virtual Status factor(Rank rank, BlockIndex panel) = 0;
  /// Runs between the commands that overlap with a broadcast and its completion.
  virtual Status before_completion(Rank /*rank*/, BlockIndex /*panel*/) { return {}; }
  /// The parts of an own panel that other devices need.
  virtual PanelMessage message(Rank rank, BlockIndex panel) const = 0;
  /// The place on the device for a panel that it does not own, or that an earlier slab has.
  virtual PanelMessage receive_buffer(Rank rank, BlockIndex panel, std::size_t slot) const = 0;
  /// The place in host memory of each region of receive_buffer(), for a panel of an earlier slab.
  virtual std::vector<Layout> host_panel(Rank rank, BlockIndex panel) = 0;
  /// Updates the own blocks in [first, end) with a panel. The panel is in a slot unless the device
  /// owns() it.
  /// @pre end == slab(rank).end || end == first + 1
  virtual Status update(Rank rank, BlockIndex panel, BlockIndex first, BlockIndex end) = 0;

  PanelExchange& exchange() const { return exchange_; }
  const ColumnDistribution& blocks() const { return distribution_; }
  BlockIndex end_panel() const { return end_panel_; }
  /// The slab that a device works on.
  SlabIndex slab_index(Rank rank) const { return slab_[rank.value()]; }
  const Slab& slab(Rank rank) const { return distribution_.slab(slab_index(rank)); }
  /// True if the block is on the device, as a part of the present slab.
  bool owns(Rank rank, BlockIndex block) const {
    return slab(rank).contains(block) && distribution_.owner(block) == rank;
  }
  static std::size_t slot_of(BlockIndex panel) { return panel.value() % kPanelSlots; }

 private:
  Status run_rank(Rank rank);
  Status run_slab(Rank rank);
  Status start_first_panel(Rank rank);
  Status step(Rank rank, BlockIndex panel);
  Status obtain(Rank rank, BlockIndex panel);
  Status reload(Rank rank, BlockIndex panel);
  Status factor_and_broadcast(Rank rank, BlockIndex panel);
  Status complete_broadcast(Rank rank, BlockIndex panel);
  Status update_trailing(Rank rank, BlockIndex panel, BlockIndex first);
  Status ensure_sent(Rank rank, BlockIndex block);
  Status fetch_unfactored(Rank rank);
  Status finish_slab(Rank rank);
  std::vector<Rank> receivers(Rank rank, BlockIndex panel) const;
  // Run by a rank while it waits for other ranks.
  std::function<Status()> device_check(Rank rank) const {
    return [this, rank] { return exchange_.check(rank); };
  }
  // True if the device updates blocks of its slab with the panel.
  bool needs(Rank rank, BlockIndex panel) const {
    return distribution_.next_of(rank, std::max(panel + 1, slab(rank).first)) < slab(rank).end;
  }

  PanelExchange& exchange_;
  const ColumnDistribution distribution_;
  const BlockIndex end_panel_;
  std::vector<SlabIndex> slab_;       // the slab of each rank
  std::vector<BlockIndex> end_sent_;  // of each rank: its blocks before this one are on the device
  OrderedGate send_gate_;             // blocks enter in their order
  OrderedGate results_gate_;          // panels leave when they are in host memory
};

}  // namespace ob::algorithms
