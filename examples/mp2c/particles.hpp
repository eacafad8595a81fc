// Particles in the memory of the host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mp2c {

struct Particles {
  std::vector<double> position, velocity;  ///< three numbers of each particle
  std::vector<std::uint32_t> id;

  std::size_t size() const { return id.size(); }
  void resize(std::size_t count) {
    position.resize(3 * count);
    velocity.resize(3 * count);
    id.resize(count);
  }
  void append(const double* place, const double* speed, std::uint32_t number) {
    position.insert(position.end(), place, place + 3);
    velocity.insert(velocity.end(), speed, speed + 3);
    id.push_back(number);
  }
  void set(std::size_t at, const double* place, const double* speed, std::uint32_t number) {
    std::memcpy(&position[3 * at], place, 3 * sizeof(double));
    std::memcpy(&velocity[3 * at], speed, 3 * sizeof(double));
    id[at] = number;
  }
};

/// A particle on its way, as 7 numbers: place, velocity, id.
constexpr std::size_t kRecord = 7;

inline void append_record(std::vector<double>& records, const Particles& from, std::size_t i) {
  records.insert(records.end(), &from.position[3 * i], &from.position[3 * i] + 3);
  records.insert(records.end(), &from.velocity[3 * i], &from.velocity[3 * i] + 3);
  records.push_back(from.id[i]);
}

}  // namespace mp2c
