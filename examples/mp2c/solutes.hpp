// Molecular dynamics of the solutes on the host: chains with springs and Lennard-Jones forces, by
// velocity Verlet.
#pragma once

#include "domain.hpp"
#include "neighbours.hpp"
#include "parameters.hpp"
#include "particles.hpp"

namespace mp2c {

class Solutes {
 public:
  Solutes(const Parameters& parameters, const Domain& domain, Neighbours& neighbours,
          Particles start);

  /// The solutes of this domain, sorted by id.
  const Particles& particles() const { return own_; }
  Particles& particles() { return own_; }

  /// Moves the solutes by `steps` steps.   Throws: std::runtime_error if a chain breaks
  void advance(int steps);
  /// Sends solutes to the domains of a newly shifted grid.
  void migrate(const Shift& shift);
  /// The energy of springs and Lennard-Jones forces; pairs of two ranks count half on each.
  double potential();

 private:
  void find_forces();
  void add_ghosts();
  void fill_bins();
  void add_pairs(std::size_t i, double* force);
  void add_bonds(std::size_t i, double* force);
  void kick_and_drift();
  void kick();
  std::array<double, 3> away(std::size_t i, std::size_t j) const;
  int bin_of(std::size_t i, std::size_t dimension) const;

  const Parameters parameters_;
  const Domain domain_;
  Neighbours& neighbours_;
  Shift shift_{};  ///< of the last migration
  double range_;   ///< of forces
  std::array<int, 3> bins_;
  Particles own_, all_;                    ///< all_: with the neighbours' near the borders, by id
  std::vector<std::size_t> index_in_all_;  ///< of own solutes
  std::vector<std::size_t> begin_, in_bin_;
  std::vector<double> force_;
  double potential_ = 0;
};

}  // namespace mp2c
