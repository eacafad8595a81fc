#pragma once
// The cores of the proxies.

#include <mpi.h>

#include <string>
#include <vector>

#include "base/status.hpp"

namespace ob::overlap {

struct ProxyCores {
  std::vector<int> cores;  ///< one for each proxy, which no worker needs; none if there are too few
  std::string note;        ///< the reason, a sentence for explain()
};

/// Chooses cores of the process's affinity mask for its proxies: the last ones, if the ranks of the
/// node that share them have enough cores for all workers and proxies. Collective over `comm`.
/// @param wanted a core that the user names for the first proxy, or -1; the others get those before
/// Errors: invalid_argument if `wanted` is outside of the mask, or has too few before it.
Result<ProxyCores> choose_proxy_cores(MPI_Comm comm, int workers, int proxies, int wanted);

/// Moves the calling thread to `core`. Returns false if the kernel refuses.
bool pin_to_core(int core) noexcept;

}  // namespace ob::overlap
