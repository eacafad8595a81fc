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

/// Returns `count` cores of the mask, the last one first, that have `behind` others behind them.
/// There may be fewer.
std::vector<int> cores_from_end(const cpu_set_t& mask, int behind, int count) {
  std::vector<int> cores;
  for (int core = CPU_SETSIZE - 1; core >= 0 && int(cores.size()) < count; --core)
    if (CPU_ISSET(core, &mask) && behind-- <= 0) cores.push_back(core);
  return cores;
}

std::string named(const std::vector<int>& cores) {
  std::string text = cores.size() == 1 ? "core " : "cores ";
  for (std::size_t i = 0; i < cores.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(cores[i]);
  return text;
}

Result<ProxyCores> cores_of_user(const cpu_set_t& own, int proxies, int wanted) {
  if (wanted >= CPU_SETSIZE || !CPU_ISSET(wanted, &own))
    return Status(Code::invalid_argument,
                  "core " + std::to_string(wanted) +
                      " is not in the affinity mask of the process, name one that is");
  int behind = 0;
  for (int core = wanted + 1; core < CPU_SETSIZE; ++core) behind += CPU_ISSET(core, &own) ? 1 : 0;
  std::vector<int> cores = cores_from_end(own, behind, proxies);
  if (int(cores.size()) < proxies)
    return Status(Code::invalid_argument,
                  "core " + std::to_string(wanted) + " for " + std::to_string(proxies) +
                      " proxies (the affinity mask has too few cores before it) name a later one, "
                      "or use fewer proxies");
  std::string note = "The user names " + named(cores) + ".";
  return ProxyCores{std::move(cores), std::move(note)};
}

}  // namespace

Result<ProxyCores> choose_proxy_cores(MPI_Comm comm, int workers, int proxies, int wanted) {
  cpu_set_t own;
  CPU_ZERO(&own);
  ::sched_getaffinity(0, sizeof own, &own);
  OB_ASSIGN_OR_RETURN(const Sharing sharing, count_sharing(comm, own));
  if (wanted >= 0) return cores_of_user(own, proxies, wanted);
  const int cores = CPU_COUNT(&own);
  const std::string counts = std::to_string(sharing.ranks) + " rank(s) with " +
                             std::to_string(workers) + " worker(s) " +
                             (proxies > 1 ? "and " + std::to_string(proxies) + " proxies " : "") +
                             "each share " + std::to_string(cores) + " core(s)";
  if (cores < sharing.ranks * (workers + proxies))
    return ProxyCores{{}, counts + (proxies > 1 ? ": too few are spare." : ": no core is spare.")};
  std::vector<int> spare = cores_from_end(own, sharing.place * proxies, proxies);
  std::string note = counts + ": " + named(spare) + (proxies > 1 ? " are spare." : " is spare.");
  return ProxyCores{std::move(spare), std::move(note)};
}

bool pin_to_core(int core) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

}  // namespace ob::overlap
