#pragma once
// The command line of summa.

#include <outboard/overlap.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace summa {

struct Arguments {
  std::int64_t m = 1024, n = 1024, k = 1024;
  std::array<int, 2> mesh{0, 0};  ///< rows and columns; 0: chosen by MPI
  std::int64_t panel = 128;       ///< the most columns of A and rows of B at a time
  int look_ahead = 1;
  std::int64_t tile = 256;  ///< columns of C in one call of dgemm
  int turns = 3;
  std::optional<std::uint64_t> uneven;  ///< the seed of random cuts
  outboard::overlap::Broadcast broadcast = outboard::overlap::Broadcast::automatic;
  outboard::overlap::Options options;
  bool verify = false;
  bool damage = false;
  bool scalapack = false;
  bool explain = false;
};

/// Returns the arguments. Prints the help or what is wrong on rank `rank` 0 and ends the program
/// otherwise: with 0 after --help, with 2 after a mistake. Call before MPI has anything under way.
Arguments parse(int argc, char** argv, int rank);

}  // namespace summa
