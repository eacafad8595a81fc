#include "oracle.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace oracle {
namespace {

using Matrix = std::array<Vector3, 3>;

// The sequence of pairs of uniform numbers that belongs to a cell, a collision and a purpose.
class Sequence {
 public:
  Sequence(std::uint64_t seed, std::uint32_t cell, std::uint32_t collision, std::uint32_t purpose)
      : key_{static_cast<std::uint32_t>(seed & 0xFFFFFFFF), static_cast<std::uint32_t>(seed >> 32)},
        counter_{cell, collision, purpose, 0} {}

  std::array<double, 2> next() {
    const Words word = philox(counter_, key_);
    ++counter_[3];
    return {number(word[0], word[1]), number(word[2], word[3])};
  }

 private:
  // The upper 53 of 64 bits, as the middle of their interval in (0, 1).
  static double number(std::uint32_t high, std::uint32_t low) {
    return std::ldexp(std::ldexp(high, 21) + (low >> 11) + 0.5, -53);
  }
  std::array<std::uint32_t, 2> key_;
  Words counter_;
};

// A rotation about an axis that is even on the sphere: R = cos I + sin [n]x + (1 - cos) n n^T.
Matrix random_rotation(Sequence numbers, double angle) {
  double x = 0, y = 0, s = 1;
  while (s >= 1) {
    const auto pair = numbers.next();
    x = 2 * pair[0] - 1;
    y = 2 * pair[1] - 1;
    s = x * x + y * y;
  }
  const Vector3 n{2 * x * std::sqrt(1 - s), 2 * y * std::sqrt(1 - s), 1 - 2 * s};
  const Matrix cross{{{0, -n[2], n[1]}, {n[2], 0, -n[0]}, {-n[1], n[0], 0}}};
  Matrix made{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      made[i][j] = std::sin(angle) * cross[i][j] + (1 - std::cos(angle)) * n[i] * n[j];
    }
    made[i][i] += std::cos(angle);
  }
  return made;
}

// Marsaglia and Tsang: A simple method for generating gamma variables, 2000.
double random_gamma(Sequence numbers, double shape) {
  const double d = shape - 1.0 / 3, c = 1 / (3 * std::sqrt(d));
  for (;;) {
    const auto pair = numbers.next();
    const double u = numbers.next()[0];
    const double x = 2 * pair[0] - 1, y = 2 * pair[1] - 1, s = x * x + y * y;
    if (s >= 1 || s == 0) continue;
    const double normal = x * std::sqrt(-2 * std::log(s) / s);
    if (1 + c * normal <= 0) continue;
    const double v = std::pow(1 + c * normal, 3);
    if (std::log(u) < normal * normal / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

std::uint32_t cell_of(const Vector3& place, const mp2c::Parameters& p, const mp2c::Shift& shift) {
  std::uint32_t cell = 0;
  for (std::size_t d = 3; d-- > 0;) {
    const auto along = static_cast<long>(std::floor(place[d] + shift[d])) % p.cells[d];
    cell = cell * static_cast<std::uint32_t>(p.cells[d]) + static_cast<std::uint32_t>(along);
  }
  return cell;
}

class Cell {
 public:
  explicit Cell(const mp2c::Parameters& parameters) : p_(parameters) {}
  void add(std::uint32_t id, State& state) { members_.push_back({p_.mass_of(id), &state}); }
  void collide(std::uint32_t cell, std::uint32_t number) const {
    if (members_.size() < 2) return;
    const Matrix rotation =
        random_rotation({p_.seed, cell, number, 0}, p_.angle_degrees * std::numbers::pi / 180);
    const Vector3 mean = mean_velocity();
    const double scale = p_.thermostat ? thermostat({p_.seed, cell, number, 1}, mean) : 1;
    for (const auto& [mass, state] : members_) {
      const Vector3 before = state->velocity;
      for (std::size_t i = 0; i < 3; ++i) {
        double turned = 0;
        for (std::size_t j = 0; j < 3; ++j) turned += rotation[i][j] * (before[j] - mean[j]);
        state->velocity[i] = mean[i] + scale * turned;
      }
    }
  }

 private:
  struct Member {
    double mass;
    State* state;
  };

  Vector3 mean_velocity() const {
    Vector3 momentum{};
    double all = 0;
    for (const auto& [mass, state] : members_) {
      for (std::size_t d = 0; d < 3; ++d) momentum[d] += mass * state->velocity[d];
      all += mass;
    }
    return {momentum[0] / all, momentum[1] / all, momentum[2] / all};
  }
  double thermostat(Sequence numbers, const Vector3& mean) const {
    double energy = 0;
    for (const auto& [mass, state] : members_) {
      for (std::size_t d = 0; d < 3; ++d) {
        energy += mass / 2 * std::pow(state->velocity[d] - mean[d], 2);
      }
    }
    const double freedoms = 3.0 * static_cast<double>(members_.size() - 1);
    return std::sqrt(random_gamma(numbers, freedoms / 2) / energy);
  }

  const mp2c::Parameters& p_;
  std::vector<Member> members_;
};

}  // namespace

Words philox(const Words& counter, const std::array<std::uint32_t, 2>& key) {
  std::array<std::array<std::uint32_t, 2>, 10> keys{key};
  for (std::size_t r = 1; r < keys.size(); ++r) {
    keys[r] = {keys[r - 1][0] + 0x9E3779B9U, keys[r - 1][1] + 0xBB67AE85U};
  }
  const auto high = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint32_t>(a * b >> 32);
  };
  Words w = counter;
  for (const auto& k : keys) {
    const Words before = w;
    w[0] = high(0xCD9E8D57U, before[2]) ^ before[1] ^ k[0];
    w[1] = 0xCD9E8D57U * before[2];
    w[2] = high(0xD2511F53U, before[0]) ^ before[3] ^ k[1];
    w[3] = 0xD2511F53U * before[0];
  }
  return w;
}

void add(Particles& to, const mp2c::Particles& from) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    State& state = to[from.id[i]];
    for (std::size_t d = 0; d < 3; ++d) {
      state.position[d] = from.position[3 * i + d];
      state.velocity[d] = from.velocity[3 * i + d];
    }
  }
}

void collide(Particles& particles, const mp2c::Parameters& p, std::uint32_t number,
             const mp2c::Shift& shift) {
  std::map<std::uint32_t, Cell> cells;
  for (auto& [id, state] : particles) {
    cells.try_emplace(cell_of(state.position, p, shift), p).first->second.add(id, state);
  }
  for (const auto& [cell, members] : cells) members.collide(cell, number);
  for (auto& [id, state] : particles) {
    if (id >= p.fluid()) continue;
    for (std::size_t d = 0; d < 3; ++d) {
      const double length = p.cells[d];
      const double place = state.position[d] + p.streaming_step() * state.velocity[d];
      state.position[d] = place - length * std::floor(place / length);
    }
  }
}

}  // namespace oracle
