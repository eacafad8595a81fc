#pragma once
// The ranks of a SIAL job: all of them in this process, or this process as one of several.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sial/server/server.hpp"
#include "sial/worker/worker.hpp"
#include "sial_options.hpp"

namespace ob::apps {

/// Threads: owner only
class Ranks {
 public:
  /// Gets each worker of this process after a program.
  using Look = std::function<void(sial::Rank, sial::Worker&)>;

  virtual ~Ranks() = default;
  /// True on one rank of the job, which speaks for all.
  virtual bool first() const noexcept = 0;
  /// Returns the number of this process; 0 if all ranks are in it.
  virtual sial::Rank number() const noexcept { return 0; }
  /// Returns the number of ranks in this process.
  virtual sial::Rank here() const noexcept { return 1; }
  /// Checks that all ranks have the same programs.   Errors: version_mismatch, on all ranks
  virtual Status compare(std::uint64_t checksum) = 0;
  /// Runs a program.   Errors: those of the program; the message is empty if another rank reports
  /// it
  virtual Status run(const sial::WorkerSetting& setting, const Look& look) = 0;
  /// Returns the most memory of each server in the last program.
  virtual const std::vector<sial::ServerPeaks>& server_peaks() const noexcept = 0;
  /// Returns the file for what this process dumps.
  virtual std::string dump_path(const std::string& path) const = 0;
  /// Ends the job on all ranks.
  virtual void close(int status) = 0;
};

/// Runs all ranks in this process, in turns. Sets numbers of ranks that `options` leaves open.
std::unique_ptr<Ranks> ranks_here(SialOptions& options);

/// Returns the ranks of the job, as this program was built: with MPI or without.
/// Errors: unsupported if the options do not fit the number of ranks; unavailable
Result<std::unique_ptr<Ranks>> start_ranks(int* argc, char*** argv, SialOptions& options);

sial::BlockServer::Options server_options(const SialOptions& options, sial::Rank rank);

}  // namespace ob::apps
