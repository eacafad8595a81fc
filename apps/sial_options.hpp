#pragma once
// The command line of outboard-sial.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::string report;                     ///< file
  std::string trace;                      ///< file; its name gets the number of the process
  bool strict = false;                    ///< warnings about the job are errors
  std::string import_from;                ///< a job of the older form: it is converted into `job`
  std::string prefetch;                   ///< auto, off or a number; empty: the job's
  std::vector<std::string> devices;       ///< addresses, as the device API takes them
  std::string placement;                  ///< of blocks on servers; empty: the job's
  std::string place;                      ///< auto, host, device, hints; empty: the job's
  std::uint64_t device_memory_bytes = 0;  ///< 0: what the device has
  unsigned threads = 1;
  bool drop_cache = false;
  bool deterministic = false;
  std::optional<double> checkpoint_s;  ///< time between checkpoints; nothing: the job's
  bool resume = false;
  std::optional<double> liveness_s;  ///< time without a sign of life; nothing: the job's
  bool check = false;
};

/// Reads the command line. Prints help or the mistake and ends the process if it says so.
SialOptions read_sial_options(int argc, char** argv);

}  // namespace ob::apps
