#include "solutes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace mp2c {
namespace {

constexpr double kSigmaReach =
    1.122462048309373;                // 2^(1/6), where Lennard-Jones forces change sign
constexpr double kLongestBond = 2.0;  // springs are never so long unless a chain breaks
constexpr double kMargin = 1.0;       // what a solute may move between two collisions

// Energy and force over distance of Lennard-Jones with sigma = epsilon = 1.
struct LennardJones {
  double energy, force;
  explicit LennardJones(double square) {
    const double inverse = 1 / square, sixth = inverse * inverse * inverse;
    energy = 4 * sixth * (sixth - 1);
    force = 24 * inverse * sixth * (2 * sixth - 1);
  }
};

// Sorts particles by id.
Particles sorted(const Particles& from) {
  std::vector<std::size_t> order(from.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return from.id[a] < from.id[b]; });
  Particles to;
  to.resize(from.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    to.set(k, &from.position[3 * order[k]], &from.velocity[3 * order[k]], from.id[order[k]]);
  }
  return to;
}

void append_records(Particles& to, const std::vector<double>& records) {
  for (std::size_t r = 0; r < records.size(); r += kRecord) {
    to.append(&records[r], &records[r + 3], static_cast<std::uint32_t>(records[r + 6]));
  }
}

}  // namespace

Solutes::Solutes(const Parameters& parameters, const Domain& domain, Neighbours& neighbours,
                 Particles start)
    : parameters_(parameters),
      domain_(domain),
      neighbours_(neighbours),
      range_(std::max(parameters.cutoff, kLongestBond)),
      bins_{},
      own_(std::move(start)) {
  for (std::size_t d = 0; d < 3; ++d) {
    bins_[d] = std::max(1, static_cast<int>(domain.cells[d] / range_));
  }
  if (parameters.solutes() > 0 && domain.ranks > 1 && domain.layers < 2 * (range_ + kMargin)) {
    throw std::runtime_error("domains are too thin (" + std::to_string(domain.layers) +
                             " layers; the forces of solutes need " +
                             std::to_string(static_cast<int>(std::ceil(2 * (range_ + kMargin)))) +
                             "); take fewer ranks or a longer box");
  }
}

void Solutes::advance(int steps) {
  if (parameters_.solutes() == 0) return;
  find_forces();
  for (int step = 0; step < steps; ++step) {
    kick_and_drift();
    find_forces();
    kick();
  }
}

double Solutes::potential() {
  if (parameters_.solutes() > 0) find_forces();
  return potential_;
}

void Solutes::kick() {
  const double impulse = 0.5 * parameters_.md_step / parameters_.solute_mass;
  for (std::size_t k = 0; k < own_.velocity.size(); ++k) own_.velocity[k] += impulse * force_[k];
}

void Solutes::kick_and_drift() {
  kick();
  for (std::size_t i = 0; i < own_.size(); ++i) {
    for (std::size_t d = 0; d < 3; ++d) {
      double& x = own_.position[3 * i + d];
      x = wrapped(x + parameters_.md_step * own_.velocity[3 * i + d], domain_.cells[d]);
    }
    const double height = domain_.height(own_.position[3 * i + 2], shift_[2]);
    if (domain_.ranks > 1 && (height < -kMargin || height > domain_.layers + kMargin)) {
      throw std::runtime_error(
          "a solute moves too fast (over an edge of a cell between two "
          "collisions); take a shorter step");
    }
  }
}

void Solutes::migrate(const Shift& shift) {
  shift_ = shift;
  if (domain_.ranks == 1 || parameters_.solutes() == 0) return;
  std::vector<double> down, up;
  Particles rest;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    const int layer = domain_.layer_of(own_.position[3 * i + 2], shift[2]);
    if (layer < domain_.layers) {
      rest.append(&own_.position[3 * i], &own_.velocity[3 * i], own_.id[i]);
    } else {
      append_record(domain_.above(layer) ? up : down, own_, i);
    }
  }
  append_records(rest, neighbours_.exchange(down, up));
  own_ = sorted(rest);
}

// --- forces --------------------------------------------------------------------------------------

void Solutes::find_forces() {
  add_ghosts();
  fill_bins();
  force_.assign(own_.position.size(), 0.0);
  potential_ = 0;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    add_pairs(i, &force_[3 * i]);
    add_bonds(i, &force_[3 * i]);
  }
}

// All solutes that exert forces here, sorted by id. Sums of forces then have an order that does
// not depend on the number of ranks.
void Solutes::add_ghosts() {
  all_ = own_;
  if (domain_.ranks > 1) {
    std::vector<double> down, up;
    const double reach = range_ + kMargin;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const double height = domain_.height(own_.position[3 * i + 2], shift_[2]);
      if (height < reach) append_record(down, own_, i);
      if (height > domain_.layers - reach) append_record(up, own_, i);
    }
    append_records(all_, neighbours_.exchange(down, up));
    all_ = sorted(all_);
  }
  index_in_all_.clear();
  for (std::size_t k = 0; k < all_.size() && index_in_all_.size() < own_.size(); ++k) {
    if (all_.id[k] == own_.id[index_in_all_.size()]) index_in_all_.push_back(k);
  }
}

int Solutes::bin_of(std::size_t i, std::size_t dimension) const {
  const int bins = bins_[dimension];
  const double x = all_.position[3 * i + dimension] / domain_.cells[dimension];
  return std::clamp(static_cast<int>(x * bins), 0, bins - 1);
}

void Solutes::fill_bins() {
  const auto bin = [&](std::size_t i) {
    return static_cast<std::size_t>((bin_of(i, 2) * bins_[1] + bin_of(i, 1)) * bins_[0] +
                                    bin_of(i, 0));
  };
  const auto bins = static_cast<std::size_t>(bins_[0]) * static_cast<std::size_t>(bins_[1]) *
                    static_cast<std::size_t>(bins_[2]);
  begin_.assign(bins + 2, 0);
  for (std::size_t i = 0; i < all_.size(); ++i) ++begin_[bin(i) + 2];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  in_bin_.resize(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) in_bin_[begin_[bin(i) + 1]++] = i;
}

// The vector from j to i.
std::array<double, 3> Solutes::away(std::size_t i, std::size_t j) const {
  std::array<double, 3> r{};
  for (std::size_t d = 0; d < 3; ++d) {
    r[d] = shortest(all_.position[3 * i + d] - all_.position[3 * j + d], domain_.cells[d]);
  }
  return r;
}

void Solutes::add_pairs(std::size_t own, double* force) {
  const std::size_t i = index_in_all_[own];
  const double square_cutoff = parameters_.cutoff * parameters_.cutoff;
  const double at_cutoff = LennardJones(square_cutoff).energy;
  // With one or two bins along a dimension, each is looked at once.
  const auto first = [&](std::size_t d) { return bins_[d] > 2 ? -1 : 0; };
  const auto last = [&](std::size_t d) { return bins_[d] > 1 ? 1 : 0; };
  const auto neighbour = [&](int offset, std::size_t d) {
    return (bin_of(i, d) + offset + bins_[d]) % bins_[d];
  };
  for (int z = first(2); z <= last(2); ++z) {
    for (int y = first(1); y <= last(1); ++y) {
      for (int x = first(0); x <= last(0); ++x) {
        const auto bin = static_cast<std::size_t>(
            (neighbour(z, 2) * bins_[1] + neighbour(y, 1)) * bins_[0] + neighbour(x, 0));
        for (std::size_t k = begin_[bin]; k < begin_[bin + 1]; ++k) {
          if (in_bin_[k] == i) continue;
          const auto r = away(i, in_bin_[k]);
          const double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
          if (square >= square_cutoff) continue;
          const LennardJones pair(square);
          for (std::size_t d = 0; d < 3; ++d) force[d] += pair.force * r[d];
          potential_ += 0.5 * (pair.energy - at_cutoff);
        }
      }
    }
  }
}

// Springs to the beads before and after, which are the neighbours in the order of ids.
void Solutes::add_bonds(std::size_t own, double* force) {
  const std::size_t i = index_in_all_[own];
  const auto length = static_cast<std::uint32_t>(parameters_.chain_length);
  const std::uint32_t bead = (all_.id[i] - parameters_.fluid()) % length;
  for (const int side : {-1, 1}) {
    if (bead == (side < 0 ? 0 : length - 1)) continue;
    const std::size_t j = side < 0 ? i - 1 : i + 1;  // i - 1 wraps round at 0
    const bool there =
        j < all_.size() && all_.id[j] + (side < 0 ? 1U : 0U) == all_.id[i] + (side < 0 ? 0U : 1U);
    const auto r = there ? away(i, j) : std::array<double, 3>{kLongestBond, 0, 0};
    const double distance = std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    if (!there || !(distance < kLongestBond)) {
      throw std::runtime_error(
          "a chain breaks (a spring is longer than two edges of a cell); take "
          "a shorter step (--md-step)");
    }
    const double stretch = distance - kSigmaReach;
    for (std::size_t d = 0; d < 3; ++d) {
      force[d] -= parameters_.spring * stretch / distance * r[d];
    }
    potential_ += 0.25 * parameters_.spring * stretch * stretch;
  }
}

}  // namespace mp2c
