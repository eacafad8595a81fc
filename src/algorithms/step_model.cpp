#include "algorithms/step_model.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/cyclic_columns.hpp"
#include "algorithms/link_clock.hpp"

namespace ob::algorithms {
namespace {

using Kind = FactorShape::Kind;

constexpr std::uint64_t kBlocks[] = {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024};
constexpr std::size_t kSlots = 2;
// What another device must gain for it to be asked.
constexpr double kClearly = 0.97;

// Operations and bytes of the parts, as the table's rows count them.
class Parts {
 public:
  Parts(const FactorShape& shape, const FactorPlan& plan)
      : shape_(shape), blocks_{shape.n, plan.block, plan.devices}, scale_(shape.complex ? 4 : 1) {}

  const CyclicColumns& blocks() const { return blocks_; }
  std::size_t panels() const {
    return CyclicColumns{std::min(shape_.m, shape_.n), blocks_.width, 1}.blocks();
  }
  double width(std::size_t block) const { return static_cast<double>(blocks_.count(block)); }
  double height(std::size_t block) const {
    return static_cast<double>(rows() - std::min(rows(), blocks_.first(block)));
  }
  double depth(std::size_t panel) const { return std::min(width(panel), height(panel)); }

  double panel_flop(std::size_t panel) const {
    const double m = height(panel);
    const double w = width(panel);
    if (shape_.kind == Kind::cholesky) return scale_ * (w * w * w / 3 + (m - w) * w * w);
    const double least = std::min(m, w);
    const double flop = least * least * (std::max(m, w) - least / 3);
    return scale_ * flop * (shape_.kind == Kind::qr ? 2 : 1);
  }
  double panel_calls() const { return shape_.kind == Kind::cholesky ? 2 : 1; }
  // Of one block with a panel.
  double update_flop(std::size_t panel, std::size_t block) const {
    const double m = height(panel);
    const double k = depth(panel);
    const double w = width(block);
    switch (shape_.kind) {
      case Kind::cholesky: return scale_ * (w * (w + 1) * k + 2 * (height(block) - w) * w * k);
      case Kind::lu: return scale_ * (k * k * w + 2 * (m - k) * w * k);
      case Kind::qr: return scale_ * 2 * w * k * (2 * m - k);
    }
    return 0;
  }
  // Of `count` blocks at once.
  double update_calls(std::size_t panel, std::size_t count) const {
    if (shape_.kind == Kind::cholesky) return 2 * static_cast<double>(count);
    return shape_.kind == Kind::qr ? 1 : 2 + depth(panel);
  }
  double block_bytes(std::size_t block) const {
    const double w = width(block);
    if (shape_.kind != Kind::cholesky) return element() * w * static_cast<double>(shape_.m);
    return element() * (w * height(block) - w * (w - 1) / 2);
  }
  double parcel_bytes(std::size_t panel) const {
    const double m = height(panel);
    const double k = depth(panel);
    if (shape_.kind == Kind::cholesky) return element() * (m - width(panel)) * k;
    return element() * m * k + k * (shape_.kind == Kind::lu ? 8 : element());
  }

 private:
  std::uint64_t rows() const { return shape_.kind == Kind::cholesky ? shape_.n : shape_.m; }
  double element() const { return shape_.element_bytes; }

  const FactorShape shape_;
  const CyclicColumns blocks_;
  const double scale_;
};

// Plays one plan; the functions are those of BlockedFactorization.
class Play {
 public:
  Play(const FactorShape& shape, const FabricModel& model, const FactorPlan& plan)
      : parts_(shape, plan),
        blocks_(parts_.blocks()),
        model_(model),
        links_(model),
        ranks_(plan.devices),
        width_(model.links_of_client()) {}

  FactorTimes run() {
    for (std::size_t at = 0; at < ranks_.size() && at < blocks_.blocks(); ++at) send(at, at);
    make(0, 0);
    if (ranks_.size() < blocks_.blocks()) send(0, ranks_.size());
    for (std::size_t panel = 0; panel < parts_.panels(); ++panel) step(panel);
    for (std::size_t block = parts_.panels(); block < blocks_.blocks(); ++block) {
      fetch(block, ranks_[blocks_.owner(block)].computed);
    }
    return {home_, received_};
  }

 private:
  struct Rank {
    double thread = 0;    // the rank itself: it waits for what it sends and takes
    double computed = 0;  // its device
    double slot_free[kSlots] = {};
    std::size_t next_to_send = 0;
  };

  void send(std::size_t at, std::size_t block) {
    Rank& rank = ranks_[at];
    if (block < rank.next_to_send) return;
    rank.next_to_send = block + 1;
    // in the order of blocks, so many at a time
    const double turn = sent_.size() < width_ ? 0 : sent_[sent_.size() - width_];
    rank.thread =
        links_.send(at, parts_.block_bytes(block), std::max(turn, rank.thread)) + model_.handover_s;
    sent_.push_back(std::max(rank.thread, sent_.empty() ? 0 : sent_.back()));
  }
  void fetch(std::size_t block, double ready) {
    home_ = std::max(home_, links_.fetch(blocks_.owner(block), parts_.block_bytes(block), ready));
  }
  void compute(std::size_t at, double flop, double flop_per_s, double calls) {
    Rank& rank = ranks_[at];
    rank.computed =
        std::max(rank.computed, rank.thread) + calls * model_.ranks[at].call_s + flop / flop_per_s;
  }
  void make(std::size_t at, std::size_t panel) {
    const RankModel& rank = model_.ranks[at];
    const double rate = rank.panel_flop_per_s > 0 ? rank.panel_flop_per_s : rank.flop_per_s;
    compute(at, parts_.panel_flop(panel), rate, parts_.panel_calls());
    ready_ = ranks_[at].computed;
  }
  bool needs(std::size_t at, std::size_t panel) const {
    return blocks_.next_of(at, panel + 1) < blocks_.blocks();
  }

  void go_round(std::size_t panel) {
    const std::size_t owner = blocks_.owner(panel);
    const double bytes = parts_.parcel_bytes(panel);
    LinkClock::Passing there{ready_ + model_.handover_s, {}};
    std::size_t from = owner;
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      const std::size_t at = (owner + i) % ranks_.size();
      if (!needs(at, panel)) continue;
      Rank& rank = ranks_[at];
      const double free = std::max(rank.thread, rank.slot_free[panel % kSlots]);
      received_ += bytes;
      LinkClock::Passing here;
      if (model_.route == Route::relay) {
        if (from == owner) there = links_.up(owner, bytes, there.ready);
        here = links_.down(at, bytes, there, free);
      } else {
        here = there = links_.forward(from, at, bytes, there, free);
      }
      rank.thread = here.last() + model_.handover_s;
      from = at;
    }
    if (model_.route == Route::relay && from != owner) {
      ranks_[owner].thread = std::max(ranks_[owner].thread, there.last());  // it delivers
    }
    fetch(panel, ready_);
  }

  void step(std::size_t panel) {
    go_round(panel);
    const std::size_t next = panel + 1;
    if (next < parts_.panels()) {
      const std::size_t at = blocks_.owner(next);
      if (panel == 0) send(at, next);
      update(at, panel, next, 1);
      make(at, next);
    }
    if (panel == 0) {
      for (std::size_t block = next; block < blocks_.blocks(); ++block) {
        if (block == next && next < parts_.panels()) continue;
        send(blocks_.owner(block), block);
        update(blocks_.owner(block), panel, block, 1);
      }
    }
    for (std::size_t at = 0; at < ranks_.size(); ++at) {
      const bool made_next = next < parts_.panels() && blocks_.owner(next) == at;
      const std::size_t first = blocks_.next_of(at, made_next ? next + 1 : next);
      if (panel > 0 && first < blocks_.blocks()) {
        update(at, panel, first, (blocks_.blocks() - 1 - first) / ranks_.size() + 1);
      }
      ranks_[at].slot_free[panel % kSlots] = ranks_[at].computed;
    }
  }

  void update(std::size_t at, std::size_t panel, std::size_t first, std::size_t count) {
    double flop = 0;
    for (std::size_t i = 0; i < count; ++i) {
      flop += parts_.update_flop(panel, first + i * ranks_.size());
    }
    compute(at, flop, model_.ranks[at].flop_per_s, parts_.update_calls(panel, count));
  }

  const Parts parts_;
  const CyclicColumns blocks_;
  const FabricModel& model_;
  LinkClock links_;
  std::vector<Rank> ranks_;
  const std::size_t width_;
  std::vector<double> sent_;  // when each block and those before it were
  double ready_ = 0;          // when the last panel was made
  double home_ = 0;
  double received_ = 0;
};

}  // namespace

FactorTimes play_factorization(const FactorShape& shape, const FabricModel& model,
                               const FactorPlan& plan) {
  return Play(shape, model, plan).run();
}

double factor_memory_bytes(const FactorShape& shape, const FactorPlan& plan) {
  const CyclicColumns blocks{shape.n, plan.block, plan.devices};
  const auto own = static_cast<double>(blocks.local_count(0));
  const double rows = static_cast<double>(shape.kind == Kind::cholesky ? shape.n : shape.m);
  const double slots = static_cast<double>(kSlots * plan.block);
  return shape.element_bytes * (rows * (own + slots) + 4.0 * static_cast<double>(shape.n));
}

FactorPlan choose_block(const FactorShape& shape, const FabricModel& model, std::size_t devices,
                        std::uint64_t memory_bytes) {
  FactorPlan fastest{0, 0, 0};
  for (const std::uint64_t block : kBlocks) {
    if (block > std::max<std::uint64_t>(shape.n / devices, kBlocks[0])) continue;
    FactorPlan plan{devices, block, 0};
    if (memory_bytes > 0 && factor_memory_bytes(shape, plan) > static_cast<double>(memory_bytes)) {
      continue;
    }
    plan.seconds = play_factorization(shape, model, plan).seconds;
    if (fastest.devices == 0 || plan.seconds < fastest.seconds) fastest = plan;
  }
  return fastest;
}

FactorPlan choose_factor_plan(const FactorShape& shape, const FabricModel& model,
                              std::uint64_t memory_bytes) {
  FactorPlan best{0, 0, 0};
  for (std::size_t devices = 1; devices <= model.ranks.size(); ++devices) {
    const FactorPlan fastest = choose_block(shape, model, devices, memory_bytes);
    if (fastest.devices == 0) continue;
    if (best.devices == 0 || fastest.seconds < kClearly * best.seconds) best = fastest;
  }
  return best;
}

}  // namespace ob::algorithms
