#include "algorithms/factor/blocked_factorization.hpp"

#include <algorithm>

#include "algorithms/factor/ranks.hpp"

namespace ob::algorithms {

Status BlockedFactorization::run() {
  return run_ranks(exchange_, [this](Rank rank) {
    // If this rank ends early for any reason, the others do not wait for it.
    struct Guard {
      BlockedFactorization& run;
      Status status{Code::out_of_memory, {}};  // stays if run_rank() throws
      ~Guard() {
        if (status.ok()) return;
        run.send_gate_.abort(status);
        run.results_gate_.abort(status);
      }
    } guard{*this};
    guard.status = run_rank(rank);
    return guard.status;
  });
}

Status BlockedFactorization::run_rank(Rank rank) {
  OB_RETURN_IF_ERROR(allocate(rank));
  for (SlabIndex slab; slab < distribution_.end_slab(); ++slab) {
    slab_[rank.value()] = slab;
    OB_RETURN_IF_ERROR(run_slab(rank));
    if (slab + 1 < distribution_.end_slab()) OB_RETURN_IF_ERROR(finish_slab(rank));
  }
  return {};
}

Status BlockedFactorization::run_slab(Rank rank) {
  const Slab& now = slab(rank);
  const BlockIndex first_own = distribution_.next_of(rank, now.first);
  if (first_own < now.end) OB_RETURN_IF_ERROR(ensure_sent(rank, first_own));
  if (owns(rank, BlockIndex(0))) OB_RETURN_IF_ERROR(start_first_panel(rank));
  for (BlockIndex panel; panel < std::min(end_panel_, now.end); ++panel) {
    if (needs(rank, panel)) OB_RETURN_IF_ERROR(step(rank, panel));
  }
  return fetch_unfactored(rank);
}

Status BlockedFactorization::start_first_panel(Rank rank) {
  const BlockIndex panel(0);
  OB_RETURN_IF_ERROR(factor_and_broadcast(rank, panel));
  // the next own block travels while the panel is factored
  const BlockIndex next_own = distribution_.next_of(rank, panel + 1);
  if (next_own < slab(rank).end) OB_RETURN_IF_ERROR(ensure_sent(rank, next_own));
  return complete_broadcast(rank, panel);
}

// One step of the factorization: update the own blocks with a panel. If the device owns the next
// panel, it updates, factors and broadcasts that one first (look-ahead).
Status BlockedFactorization::step(Rank rank, BlockIndex panel) {
  const BlockIndex next = panel + 1;
  const bool owns_next = next < end_panel_ && owns(rank, next);
  OB_RETURN_IF_ERROR(obtain(rank, panel));
  if (owns_next) {
    if (panel == BlockIndex(0)) OB_RETURN_IF_ERROR(ensure_sent(rank, next));
    OB_RETURN_IF_ERROR(update(rank, panel, next, next + 1));
    OB_RETURN_IF_ERROR(factor_and_broadcast(rank, next));
  }
  OB_RETURN_IF_ERROR(update_trailing(rank, panel, owns_next ? next + 1 : next));
  OB_RETURN_IF_ERROR(exchange_.release(rank, slot_of(panel)));
  return owns_next ? complete_broadcast(rank, next) : Status();
}

// Brings the panel to the device: from an earlier slab or from its owner, unless it is an own
// panel.
Status BlockedFactorization::obtain(Rank rank, BlockIndex panel) {
  if (panel < slab(rank).first) return reload(rank, panel);
  if (owns(rank, panel)) return {};
  const std::size_t slot = slot_of(panel);
  return exchange_.receive(rank, panel.value(), receive_buffer(rank, panel, slot), slot);
}

Status BlockedFactorization::reload(Rank rank, BlockIndex panel) {
  OB_RETURN_IF_ERROR(results_gate_.enter(panel.value() + 1, device_check(rank)));
  const std::size_t slot = slot_of(panel);
  OB_RETURN_IF_ERROR(exchange_.wait_slot(rank, slot));
  const PanelMessage buffer = receive_buffer(rank, panel, slot);
  const std::vector<Layout> host = host_panel(rank, panel);
  for (std::size_t i = 0; i < host.size(); ++i) {
    OB_RETURN_IF_ERROR(exchange_.send(rank, host[i], buffer.buffer, buffer.regions[i]));
  }
  return {};
}

Status BlockedFactorization::factor_and_broadcast(Rank rank, BlockIndex panel) {
  OB_RETURN_IF_ERROR(factor(rank, panel));
  OB_RETURN_IF_ERROR(
      exchange_.post_broadcast(rank, panel.value(), message(rank, panel), receivers(rank, panel)));
  return fetch_block(rank, panel);
}

Status BlockedFactorization::complete_broadcast(Rank rank, BlockIndex panel) {
  OB_RETURN_IF_ERROR(before_completion(rank, panel));
  return exchange_.complete(rank);
}

// The other devices that have blocks of this slab behind the panel, the next device first.
std::vector<Rank> BlockedFactorization::receivers(Rank rank, BlockIndex panel) const {
  std::vector<Rank> found;
  for (std::size_t i = 1; i < distribution_.devices(); ++i) {
    const Rank other((rank.value() + i) % distribution_.devices());
    // the slab is this rank's: the other rank may still work on an earlier one
    if (distribution_.next_of(other, panel + 1) < slab(rank).end) found.push_back(other);
  }
  return found;
}

Status BlockedFactorization::update_trailing(Rank rank, BlockIndex panel, BlockIndex first) {
  const Slab& now = slab(rank);
  BlockIndex block = distribution_.next_of(rank, std::max(first, now.first));
  if (block >= now.end) return {};
  if (panel > BlockIndex(0)) return update(rank, panel, block, now.end);
  // the first panel updates each block as it arrives
  for (; block < now.end; block = distribution_.next_of(rank, block + 1)) {
    OB_RETURN_IF_ERROR(ensure_sent(rank, block));
    OB_RETURN_IF_ERROR(update(rank, panel, block, block + 1));
  }
  return {};
}

Status BlockedFactorization::ensure_sent(Rank rank, BlockIndex block) {
  if (block < end_sent_[rank.value()]) return {};
  end_sent_[rank.value()] = block + 1;
  OB_RETURN_IF_ERROR(send_gate_.enter(block.value(), device_check(rank)));
  OB_RETURN_IF_ERROR(send_block(rank, block));
  send_gate_.leave(block.value());
  return {};
}

// Blocks behind the last panel are final once all panels have updated them.
Status BlockedFactorization::fetch_unfactored(Rank rank) {
  const Slab& now = slab(rank);
  BlockIndex block = distribution_.next_of(rank, std::max(end_panel_, now.first));
  for (; block < now.end; block = distribution_.next_of(rank, block + 1)) {
    OB_RETURN_IF_ERROR(fetch_block(rank, block));
  }
  return {};
}

// The results of the slab are in host memory, where other ranks may reload them, before the next
// slab replaces them on the device.
Status BlockedFactorization::finish_slab(Rank rank) {
  OB_RETURN_IF_ERROR(exchange_.wait_results(rank));
  const BlockIndex end = std::min(end_panel_, slab(rank).end);
  BlockIndex panel = distribution_.next_of(rank, slab(rank).first);
  for (; panel < end; panel = distribution_.next_of(rank, panel + 1)) {
    results_gate_.leave(panel.value());
  }
  return {};
}

}  // namespace ob::algorithms
