// For a build without MPI.

#include "sial_ranks.hpp"

namespace ob::apps {

Result<std::unique_ptr<Ranks>> start_ranks(int* /*argc*/, char*** /*argv*/, SialOptions& options) {
  return ranks_here(options);
}

}  // namespace ob::apps
