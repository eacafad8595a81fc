#pragma once
// Tells whether a process of an MPI job has a core that its own threads do not need.

#include <string>

namespace ob::overlap {

struct SpareCore {
  bool is_spare = false;
  std::string note;  ///< the counts, a sentence
};

/// Judges by the affinity mask, the number of ranks of this machine as the launcher tells it, and
/// OMP_NUM_THREADS. It sends no message, because the layer may be missing in other ranks.
SpareCore find_spare_core();

}  // namespace ob::overlap
