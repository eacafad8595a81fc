#pragma once
// What Cholesky, LU and QR over devices share: who does what, and when.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "algorithms/exchange/ordered_gate.hpp"
#include "algorithms/exchange/panel_exchange.hpp"
#include "algorithms/factor/column_distribution.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"

namespace ob::algorithms {

/// A factorization of column blocks that are distributed out to the devices of a exchange,
/// right-looking within a slab: each panel is made by its owner and goes round; with look-ahead 1,
/// so that the next panel is made and is on its way while the rest is updated with this one. Blocks
/// are sent in the order in which they become panels, and go home as soon as they are final. What
/// does not fit on the devices at once is done slab after slab, left-looking: panels of earlier
/// slabs come back from home, one after the other, once for each slab and device. Threads: run() by
/// one; the functions with an `at` are called by that rank alone Source:  algorithms 1 (out of
/// core), 2; DAC V.B
class BlockedFactorization {
 public:
  BlockedFactorization(const BlockedFactorization&) = delete;
  BlockedFactorization& operator=(const BlockedFactorization&) = delete;
  virtual ~BlockedFactorization() = default;

  /// Errors: those of the devices and the exchange. Nothing is under way afterwards
  Status run();
  /// Frees what the devices hold; results are at home.   @pre run() has returned
  virtual void release_devices() = 0;

 protected:
  /// Messages that a device holds besides what is its own: one is used, one arrives.
  static constexpr std::size_t kSlots = 2;

  /// @param panels of the blocks, how many are factored; the others are only updated
  /// @pre distribution.devices() == exchange.size()
  BlockedFactorization(PanelExchange& exchange, ColumnDistribution distribution, std::size_t panels)
      : exchange_(exchange),
        distribution_(std::move(distribution)),
        panels_(panels),
        slab_(distribution_.devices()),
        sent_(distribution_.devices()),
        send_gate_(exchange.model().links_of_client()),
        results_gate_(1) {}

  /// Makes room on the device, for all slabs.
  virtual Status allocate(std::size_t at) = 0;
  virtual Status send_block(std::size_t at, std::size_t block) = 0;
  /// Brings a final block home.
  virtual Status fetch_block(std::size_t at, std::size_t block) = 0;
  /// Makes a panel of an own block.
  virtual Status factor(std::size_t at, std::size_t panel) = 0;
  /// Between what the device computes meanwhile and the delivery of an own panel.
  virtual Status before_completion(std::size_t /*at*/, std::size_t /*panel*/) { return {}; }
  /// What others need of an own panel.
  virtual PanelMessage message(std::size_t at, std::size_t panel) const = 0;
  /// Where a panel that was made elsewhere, or for an earlier slab, comes to.
  virtual PanelMessage receive_buffer(std::size_t at, std::size_t panel,
                                      std::size_t slot) const = 0;
  /// Where a panel of an earlier slab lies here: of each region of receive_buffer().
  virtual std::vector<Layout> host_panel(std::size_t at, std::size_t panel) = 0;
  /// Updates those of the own blocks that are in [first, end) with a panel; it is in a slot unless
  /// the device has() it. @pre end is the end of the slab, or first + 1
  virtual Status update(std::size_t at, std::size_t panel, std::size_t first, std::size_t end) = 0;

  PanelExchange& exchange() const { return exchange_; }
  const ColumnDistribution& blocks() const { return distribution_; }
  std::size_t panels() const { return panels_; }
  /// What a device is working on.
  const Slab& slab(std::size_t at) const { return distribution_.slab(slab_[at]); }
  std::size_t slab_number(std::size_t at) const { return slab_[at]; }
  bool has(std::size_t at, std::size_t block) const {
    return slab(at).contains(block) && distribution_.owner(block) == at;
  }
  static std::size_t slot_of(std::size_t panel) { return panel % kSlots; }

 private:
  Status rank(std::size_t at);
  Status run_slab(std::size_t at);
  Status ensure_sent(std::size_t at, std::size_t block);
  Status step(std::size_t at, std::size_t panel);
  Status make(std::size_t at, std::size_t panel);
  Status complete_panel(std::size_t at, std::size_t panel);
  Status reload(std::size_t at, std::size_t panel);
  Status update_rest(std::size_t at, std::size_t panel, std::size_t first);
  Status finish_slab(std::size_t at);
  // What a rank does while it waits for others.
  std::function<Status()> looking_at(std::size_t at) const {
    return [this, at] { return exchange_.check(at); };
  }
  bool needs(std::size_t at, std::size_t panel) const {
    return distribution_.next_of(at, std::max(panel + 1, slab(at).first)) < slab(at).end;
  }

  PanelExchange& exchange_;
  const ColumnDistribution distribution_;
  const std::size_t panels_;
  std::vector<std::size_t> slab_;  // by each rank: where it is
  std::vector<std::size_t> sent_;  // by each rank: its blocks before that one
  OrderedGate send_gate_;          // in the order of blocks
  OrderedGate results_gate_;       // panels, over when they are there
};

}  // namespace ob::algorithms
