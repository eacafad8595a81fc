#include "algorithms/factor/step_model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "algorithms/exchange/link_clock.hpp"
#include "algorithms/factor/column_distribution.hpp"

namespace ob::algorithms {
namespace {

using FactorKind = FactorShape::Kind;

// From wide to narrow: narrow blocks take longer to simulate.
constexpr std::uint64_t kBlocks[] = {1024, 768, 512, 384, 256, 192, 128, 96, 64, 32};
// The time falls and then rises with the width, except for ripples. So many widths in a row that
// are clearly slower than the best end the search.
constexpr double kFarSide = 1.02;
constexpr int kWorseInARow = 2;
// Another device is used only if it shortens the time to this share.
constexpr double kWorthAnother = 0.97;
// Devices whose rates differ by less get equal parts: measurements are not more precise.
constexpr double kUnequal = 1.1;

// Operations and bytes of the parts, counted as in the rows of the routine table.
class Parts {
 public:
  Parts(const FactorShape& shape, ColumnDistribution blocks)
      : shape_(shape), blocks_(std::move(blocks)), scale_(shape.complex ? 4 : 1) {}

  const ColumnDistribution& blocks() const { return blocks_; }
  BlockIndex end_panel() const {
    return BlockIndex((std::min(shape_.m, shape_.n) + blocks_.width() - 1) / blocks_.width());
  }
  double width(BlockIndex block) const { return static_cast<double>(blocks_.count(block)); }
  double height(BlockIndex block) const {
    return static_cast<double>(shape_.rows() -
                               std::min(shape_.rows(), blocks_.first(block).value()));
  }
  double depth(BlockIndex panel) const { return std::min(width(panel), height(panel)); }

  double panel_flop(BlockIndex panel) const {
    const double m = height(panel);
    const double w = width(panel);
    if (shape_.kind == FactorKind::cholesky) return scale_ * (w * w * w / 3 + (m - w) * w * w);
    const double least = std::min(m, w);
    const double flop = least * least * (std::max(m, w) - least / 3);
    return scale_ * flop * (shape_.kind == FactorKind::qr ? 2 : 1);
  }
  double panel_calls() const { return shape_.kind == FactorKind::cholesky ? 2 : 1; }
  // The update of one block with a panel.
  double update_flop(BlockIndex panel, BlockIndex block) const {
    const double m = height(panel);
    const double k = depth(panel);
    const double w = width(block);
    switch (shape_.kind) {
      case FactorKind::cholesky:
        return scale_ * (w * (w + 1) * k + 2 * (height(block) - w) * w * k);
      case FactorKind::lu: return scale_ * (k * k * w + 2 * (m - k) * w * k);
      case FactorKind::qr: return scale_ * 2 * w * k * (2 * m - k);
    }
    return 0;
  }
  // The calls that update `count` blocks at once.
  double update_calls(BlockIndex panel, std::size_t count) const {
    if (shape_.kind == FactorKind::cholesky) return 2 * static_cast<double>(count);
    return shape_.kind == FactorKind::qr ? 1 : 2 + depth(panel);
  }
  double block_bytes(BlockIndex block) const {
    const double w = width(block);
    if (shape_.kind != FactorKind::cholesky) return element() * w * static_cast<double>(shape_.m);
    return element() * (w * height(block) - w * (w - 1) / 2);
  }
  double peer_message_bytes(BlockIndex panel) const {
    const double m = height(panel);
    const double k = depth(panel);
    if (shape_.kind == FactorKind::cholesky) return element() * (m - width(panel)) * k;
    return element() * m * k + k * (shape_.kind == FactorKind::lu ? 8 : element());
  }
  // A panel of an earlier slab, for a slab that begins with block `first`.
  double reloaded_bytes(BlockIndex panel, BlockIndex first) const {
    if (shape_.kind != FactorKind::cholesky) return peer_message_bytes(panel);
    return element() * height(first) * depth(panel);
  }

 private:
  double element() const { return shape_.element_bytes; }

  const FactorShape shape_;
  const ColumnDistribution blocks_;
  const double scale_;
};

// Simulates one plan. The functions have the names of those of BlockedFactorization.
class Simulation {
 public:
  Simulation(const FactorShape& shape, const ExchangeModel& model, ColumnDistribution distribution)
      : parts_(shape, std::move(distribution)),
        blocks_(parts_.blocks()),
        model_(model),
        links_(model),
        ranks_(blocks_.devices()),
        width_(model.links_of_client()) {}

  FactorTimes run() {
    for (SlabIndex index; index < blocks_.end_slab(); ++index) {
      slab_ = blocks_.slab(index);
      run_slab();
    }
    return {home_, received_, reloaded_};
  }

 private:
  struct RankState {
    double thread = 0;    // the rank itself, which waits for its sends and receives
    double computed = 0;  // its device
    double home = 0;      // the last result so far is on the host
    double slot_free[kPanelSlots] = {};
    BlockIndex next_to_send;
  };

  void run_slab() {
    for (BlockIndex block = slab_.first; block < slab_.end; ++block) {
      const Rank at = blocks_.owner(block);
      if (blocks_.next_of(at, slab_.first) == block) send(at, block);
    }
    if (slab_.first == BlockIndex(0)) {
      const Rank at = blocks_.owner(BlockIndex(0));
      make(at, BlockIndex(0));
      const BlockIndex next = blocks_.next_of(at, BlockIndex(1));
      if (next < slab_.end) send(at, next);
    }
    for (BlockIndex panel; panel < std::min(parts_.end_panel(), slab_.end); ++panel) step(panel);
    for (BlockIndex block = std::max(parts_.end_panel(), slab_.first); block < slab_.end; ++block) {
      fetch(block, ranks_[blocks_.owner(block).value()].computed);
    }
    if (slab_.end == blocks_.end_block()) return;
    for (RankState& state : ranks_) state.thread = std::max(state.thread, state.home);
  }

  void send(Rank at, BlockIndex block) {
    RankState& state = ranks_[at.value()];
    if (block < state.next_to_send) return;
    state.next_to_send = block + 1;
    // in the order of blocks, width_ of them at a time
    const double turn = sent_.size() < width_ ? 0 : sent_[sent_.size() - width_];
    state.thread =
        links_.send(at.value(), parts_.block_bytes(block), std::max(turn, state.thread)) +
        model_.handover_s;
    sent_.push_back(std::max(state.thread, sent_.empty() ? 0 : sent_.back()));
  }
  void fetch(BlockIndex block, double ready) {
    RankState& state = ranks_[blocks_.owner(block).value()];
    const double home =
        links_.fetch(blocks_.owner(block).value(), parts_.block_bytes(block), ready);
    state.home = std::max(state.home, home);
    home_ = std::max(home_, home);
  }
  void compute(Rank at, double flop, double flop_per_s, double calls) {
    RankState& state = ranks_[at.value()];
    state.computed = std::max(state.computed, state.thread) +
                     calls * model_.ranks[at.value()].call_s + flop / flop_per_s;
  }
  void make(Rank at, BlockIndex panel) {
    const RankModel& rank = model_.ranks[at.value()];
    const double rate = rank.panel_flop_per_s > 0 ? rank.panel_flop_per_s : rank.flop_per_s;
    compute(at, parts_.panel_flop(panel), rate, parts_.panel_calls());
    ready_ = ranks_[at.value()].computed;
  }
  bool needs(Rank at, BlockIndex panel) const {
    return blocks_.next_of(at, std::max(panel + 1, slab_.first)) < slab_.end;
  }
  bool has(Rank at, BlockIndex block) const {
    return slab_.contains(block) && blocks_.owner(block) == at;
  }

  void reload(BlockIndex panel) {
    const double bytes = parts_.reloaded_bytes(panel, slab_.first);
    for (Rank at; at.value() < ranks_.size(); ++at) {
      if (!needs(at, panel)) continue;
      RankState& state = ranks_[at.value()];
      reloaded_ += bytes;
      // all of them are on the host since the end of the slab before
      const double ready = std::max(state.thread, state.slot_free[panel.value() % kPanelSlots]);
      state.thread = links_.send(at.value(), bytes, ready) + model_.handover_s;
    }
  }

  void broadcast(BlockIndex panel) {
    const Rank owner = blocks_.owner(panel);
    const double bytes = parts_.peer_message_bytes(panel);
    LinkClock::Passing there{ready_ + model_.handover_s, {}};
    Rank from = owner;
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      const Rank at((owner.value() + i) % ranks_.size());
      if (!needs(at, panel)) continue;
      RankState& state = ranks_[at.value()];
      const double free = std::max(state.thread, state.slot_free[panel.value() % kPanelSlots]);
      received_ += bytes;
      LinkClock::Passing here;
      if (model_.route == Route::relay) {
        if (from == owner) there = links_.up(owner.value(), bytes, there.ready);
        here = links_.down(at.value(), bytes, there, free);
      } else {
        here = there = links_.forward(from.value(), at.value(), bytes, there, free);
      }
      state.thread = here.last() + model_.handover_s;
      from = at;
    }
    if (model_.route == Route::relay && from != owner) {
      ranks_[owner.value()].thread =
          std::max(ranks_[owner.value()].thread, there.last());  // it relays the message
    }
    fetch(panel, ready_);
  }

  void step(BlockIndex panel) {
    if (slab_.contains(panel)) {
      broadcast(panel);
    } else {
      reload(panel);
    }
    const BlockIndex next = panel + 1;
    const bool makes_next = next < parts_.end_panel() && slab_.contains(next);
    if (makes_next) {
      const Rank at = blocks_.owner(next);
      if (panel == BlockIndex(0)) send(at, next);
      update(at, panel, next, next + 1);
      make(at, next);
    }
    if (panel == BlockIndex(0)) {
      for (BlockIndex block = std::max(next, slab_.first); block < slab_.end; ++block) {
        if (block == next && makes_next) continue;
        send(blocks_.owner(block), block);
        update(blocks_.owner(block), panel, block, block + 1);
      }
    }
    for (Rank at; at.value() < ranks_.size(); ++at) {
      const bool made_next = makes_next && blocks_.owner(next) == at;
      const BlockIndex rest = std::max(made_next ? next + 1 : next, slab_.first);
      if (panel > BlockIndex(0)) update(at, panel, blocks_.next_of(at, rest), slab_.end);
      ranks_[at.value()].slot_free[panel.value() % kPanelSlots] = ranks_[at.value()].computed;
    }
  }

  // Updates the own blocks in [first, end).
  void update(Rank at, BlockIndex panel, BlockIndex first, BlockIndex end) {
    if (first >= end) return;
    double flop = 0;
    std::size_t count = 0;
    for (BlockIndex block = first; block < end; block = blocks_.next_of(at, block + 1)) {
      flop += parts_.update_flop(panel, block);
      ++count;
    }
    compute(at, flop, model_.ranks[at.value()].flop_per_s, parts_.update_calls(panel, count));
  }

  const Parts parts_;
  const ColumnDistribution& blocks_;
  Slab slab_;
  const ExchangeModel& model_;
  LinkClock links_;
  std::vector<RankState> ranks_;
  const std::size_t width_;
  std::vector<double> sent_;  // the time at which each block and those before it were sent
  double ready_ = 0;          // the time at which the last panel was factored
  double home_ = 0;
  double received_ = 0;
  double reloaded_ = 0;
};

}  // namespace

FactorTimes simulate_factorization(const FactorShape& shape, const ExchangeModel& model,
                                   const FactorPlan& plan) {
  const auto distribution = distribute_columns(shape, model.ranks, plan);
  return distribution ? Simulation(shape, model, *distribution).run() : FactorTimes{};
}

FactorPlan choose_block(const FactorShape& shape, const ExchangeModel& model, std::size_t devices) {
  const auto [slowest, fastest] = std::minmax_element(
      model.ranks.begin(), model.ranks.begin() + static_cast<std::ptrdiff_t>(devices),
      [](const RankModel& x, const RankModel& y) { return x.flop_per_s < y.flop_per_s; });
  const bool are_equal = fastest->flop_per_s < kUnequal * slowest->flop_per_s;
  FactorPlan best{0, 0, 0};
  int worse = 0;
  for (const std::uint64_t block : kBlocks) {
    if (block > std::max<std::uint64_t>(shape.n / devices, *std::rbegin(kBlocks))) continue;
    double seconds = HUGE_VAL;
    for (const bool by_rate : {false, true}) {
      if (by_rate && are_equal) continue;
      FactorPlan plan{devices, block, 0, by_rate};
      const auto distribution = distribute_columns(shape, model.ranks, plan);
      if (!distribution) continue;
      plan.seconds = Simulation(shape, model, *distribution).run().seconds;
      seconds = std::min(seconds, plan.seconds);
      if (best.devices == 0 || plan.seconds < best.seconds) best = plan;
    }
    // widths that do not fit do not count
    if (seconds < HUGE_VAL) worse = seconds > kFarSide * best.seconds ? worse + 1 : 0;
    if (worse == kWorseInARow) break;
  }
  return best;
}

FactorPlan choose_factor_plan(const FactorShape& shape, const ExchangeModel& model,
                              double alone_s) {
  FactorPlan best{0, 0, 0};
  if (alone_s > 0) best = {1, shape.n, alone_s};
  for (std::size_t devices = alone_s > 0 ? 2 : 1; devices <= model.ranks.size(); ++devices) {
    const FactorPlan fastest = choose_block(shape, model, devices);
    if (fastest.devices == 0) continue;
    if (best.devices == 0 || fastest.seconds < kWorthAnother * best.seconds) best = fastest;
  }
  return best;
}

}  // namespace ob::algorithms
