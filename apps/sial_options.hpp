#pragma once
// The command line of outboard-sial.

#include <cstdint>
#include <string>

namespace ob::apps {

struct SialOptions {
  std::string job;
  unsigned workers = 0;  ///< 0: all ranks but the servers
  unsigned servers = 0;  ///< 0: a third of the ranks
  std::uint64_t seed = 0;
  std::string schedule;
  std::uint64_t worker_memory_bytes = 0;
  std::uint64_t server_memory_bytes = 0;
  std::string races;  ///< empty: worker
  std::string state;  ///< folder; empty: that of the job file
  std::string spill;  ///< folder; empty: that of the job file
  std::string dump_state;
  std::string report;       ///< file
  std::string import_from;  ///< a job of the older form: it is converted into `job`
  std::string prefetch;     ///< auto, off or a number; empty: the job's
  unsigned threads = 1;
  bool drop_cache = false;
  bool check = false;
};

/// Reads the command line. Prints help or the mistake and ends the process if it says so.
SialOptions read_sial_options(int argc, char** argv);

}  // namespace ob::apps
