#pragma once
// The core of the proxy.

#include <mpi.h>

#include <string>

#include "base/status.hpp"

namespace ob::overlap {

struct ProxyCore {
  int core = -1;     ///< a core that no worker needs, or -1
  std::string note;  ///< the reason, a sentence for explain()
};

/// Chooses a core of the process's affinity mask for its proxy: the last ones, if the ranks of the
/// node that share them have more cores than workers. Collective over `comm`.
/// @param wanted a core that the user names, or -1
/// Errors: invalid_argument if `wanted` is outside of the mask.
Result<ProxyCore> choose_proxy_core(MPI_Comm comm, int workers, int wanted);

/// Moves the calling thread to `core`. Returns false if the kernel refuses.
bool pin_to_core(int core) noexcept;

}  // namespace ob::overlap
