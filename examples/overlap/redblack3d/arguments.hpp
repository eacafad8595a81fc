#pragma once
// The command line of redblack3d.

#include <outboard/overlap.hpp>

#include <array>
#include <cstdint>

namespace redblack3d {

struct Arguments {
  std::int64_t n = 64;
  int iterations = 10;
  std::array<int, 3> geometry{0, 0, 1};  ///< ranks in z, y and x; 0: chosen by MPI
  int threads = 1;                       ///< threads of a rank that compute
  double relax_ms = 0;  ///< kept time: an iteration sleeps so long instead of computing; 0: none
  bool periodic = false;
  bool boundary_first = false;
  bool changed_colour = false;  ///< a message has the cells of one colour
  bool verify = false;
  bool explain = false;
  outboard::overlap::Options options;
};

/// Returns the arguments. Prints the usage and ends the process if they are wrong.
Arguments parse(int argc, char** argv);

}  // namespace redblack3d
