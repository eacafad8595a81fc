#include "overlap/programs/spare_core.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "base/machine.hpp"

namespace ob::overlap {
namespace {

/// Returns the first of the variables that holds a number above 0, or 1.
long number_in(std::initializer_list<const char*> variables) {
  for (const char* const name : variables) {
    const char* const text = std::getenv(name);
    const long number = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
    if (number > 0) return number;
  }
  return 1;
}

}  // namespace

SpareCore find_spare_core() {
  const long cores = usable_cores();
  const long online = std::max(::sysconf(_SC_NPROCESSORS_ONLN), cores);
  const long local = number_in(
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"});
  // A launcher that binds ranks gives equal parts of the machine to them.
  const long sharing = std::max(1L, (local * cores + online - 1) / online);
  const long threads = number_in({"OMP_NUM_THREADS"});
  SpareCore found;
  found.is_spare = cores >= sharing * (threads + 1);
  found.note = std::to_string(sharing) + " rank(s) of " + std::to_string(threads) +
               " thread(s) share " + std::to_string(cores) + " core(s)";
  return found;
}

}  // namespace ob::overlap
