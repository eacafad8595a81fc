#pragma once
// What Cholesky, LU and QR over several devices share: who does what, and when.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/cyclic_columns.hpp"
#include "algorithms/fabric.hpp"
#include "algorithms/turnstile.hpp"
#include "base/status.hpp"

namespace ob::algorithms {

/// A right-looking factorization of column blocks that are dealt out to the devices of a fabric.
/// Each panel is made by its owner and goes round; with look-ahead 1, so that the next panel is
/// made and is on its way while the rest is updated with this one. Blocks are sent in the order in
/// which they become panels, and go home as soon as they are final.
/// Threads: run() by one; the functions with an `at` are called by that rank alone
/// Source:  algorithms 2; DAC V.B
class BlockedFactorization {
 public:
  BlockedFactorization(const BlockedFactorization&) = delete;
  BlockedFactorization& operator=(const BlockedFactorization&) = delete;
  virtual ~BlockedFactorization() = default;

  /// Errors: those of the devices and the fabric. Nothing is under way afterwards
  Status run();

 protected:
  /// Parcels that a device holds besides what is its own: one is used, one arrives.
  static constexpr std::size_t kSlots = 2;

  /// @param panels of the blocks, how many are factored; the others are only updated
  BlockedFactorization(Fabric& fabric, const CyclicColumns& blocks, std::size_t panels)
      : fabric_(fabric),
        blocks_(blocks),
        panels_(panels),
        sent_(blocks.devices),
        sending_(fabric.model().links_of_client()) {}

  /// Makes room on the device.
  virtual Status allocate(std::size_t at) = 0;
  virtual Status send_block(std::size_t at, std::size_t block) = 0;
  /// Brings a final block home.
  virtual Status fetch_block(std::size_t at, std::size_t block) = 0;
  /// Makes a panel of an own block.
  virtual Status factor(std::size_t at, std::size_t panel) = 0;
  /// Between what the device computes meanwhile and the delivery of an own panel.
  virtual Status before_delivery(std::size_t /*at*/, std::size_t /*panel*/) { return {}; }
  /// What others need of an own panel.
  virtual Parcel parcel(std::size_t at, std::size_t panel) const = 0;
  /// Where a panel of another device comes to.
  virtual Parcel landing(std::size_t at, std::size_t panel, std::size_t slot) const = 0;
  /// Updates the own blocks from `first` on, `count` of them, with a panel; in a slot if another
  /// device has made it.
  virtual Status update(std::size_t at, std::size_t panel, std::size_t first,
                        std::size_t count) = 0;

  Fabric& fabric() const { return fabric_; }
  const CyclicColumns& blocks() const { return blocks_; }
  std::size_t panels() const { return panels_; }
  bool owns(std::size_t at, std::size_t block) const { return blocks_.owner(block) == at; }
  static std::size_t slot_of(std::size_t panel) { return panel % kSlots; }

 private:
  Status rank(std::size_t at);
  Status ensure_sent(std::size_t at, std::size_t block);
  Status step(std::size_t at, std::size_t panel);
  Status make(std::size_t at, std::size_t panel);
  Status deliver(std::size_t at, std::size_t panel);
  Status update_rest(std::size_t at, std::size_t panel, std::size_t first);
  bool needs(std::size_t at, std::size_t panel) const {
    return blocks_.next_of(at, panel + 1) < blocks_.blocks();
  }

  Fabric& fabric_;
  const CyclicColumns blocks_;
  const std::size_t panels_;
  std::vector<std::size_t> sent_;  // by each rank: its blocks before that one
  Turnstile sending_;              // in the order of blocks
};

}  // namespace ob::algorithms
