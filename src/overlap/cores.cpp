#include "overlap/cores.hpp"

#include <sched.h>

#include <vector>

#include "overlap/mpi_calls.hpp"

namespace ob::overlap {
namespace {

struct Sharing {
  int ranks = 0;  ///< ranks of this node that may run on a core of this process
  int place = 0;  ///< of this rank among them
};

Result<Sharing> count_sharing(MPI_Comm comm, const cpu_set_t& own) {
  MPI_Comm node_comm = MPI_COMM_NULL;
  OB_RETURN_IF_ERROR(
      mpi_status("MPI_Comm_split_type",
                 MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_comm)));
  const Communicator node(node_comm);
  std::vector<cpu_set_t> masks(node.size());
  OB_RETURN_IF_ERROR(
      mpi_status("MPI_Allgather", MPI_Allgather(&own, int(sizeof own), MPI_BYTE, masks.data(),
                                                int(sizeof own), MPI_BYTE, node.get())));
  Sharing sharing;
  for (int rank = 0; rank < node.size(); ++rank) {
    cpu_set_t common;
    CPU_AND(&common, &own, &masks[rank]);
    if (CPU_COUNT(&common) == 0) continue;
    ++sharing.ranks;
    if (rank < node.rank()) ++sharing.place;
  }
  return sharing;
}

/// Returns the core that has `behind` others of the mask behind it.
int core_from_end(const cpu_set_t& mask, int behind) {
  for (int core = CPU_SETSIZE - 1; core >= 0; --core)
    if (CPU_ISSET(core, &mask) && behind-- == 0) return core;
  return -1;
}

}  // namespace

Result<ProxyCore> choose_proxy_core(MPI_Comm comm, int workers, int wanted) {
  cpu_set_t own;
  CPU_ZERO(&own);
  ::sched_getaffinity(0, sizeof own, &own);
  OB_ASSIGN_OR_RETURN(const Sharing sharing, count_sharing(comm, own));
  if (wanted >= 0) {
    if (wanted >= CPU_SETSIZE || !CPU_ISSET(wanted, &own))
      return Status(Code::invalid_argument,
                    "core " + std::to_string(wanted) +
                        " is not in the affinity mask of the process, name one that is");
    return ProxyCore{wanted, "The user names core " + std::to_string(wanted) + "."};
  }
  const int cores = CPU_COUNT(&own);
  const std::string counts = std::to_string(sharing.ranks) + " rank(s) with " +
                             std::to_string(workers) + " worker(s) each share " +
                             std::to_string(cores) + " core(s)";
  if (cores < sharing.ranks * (workers + 1)) return ProxyCore{-1, counts + ": no core is spare."};
  const int core = core_from_end(own, sharing.place);
  return ProxyCore{core, counts + ": core " + std::to_string(core) + " is spare."};
}

bool pin_to_core(int core) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

}  // namespace ob::overlap
