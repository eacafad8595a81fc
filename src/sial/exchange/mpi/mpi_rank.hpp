#pragma once
// One program on one MPI process, which is a worker or a server.

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/status.hpp"
#include "sial/exchange/mpi/mpi_exchange.hpp"
#include "sial/server/server.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {

/// The part of one rank in the programs of a job, one after another. The first ranks are the
/// workers, the others the servers.
/// Threads: the one that created the exchange
class MpiRank {
 public:
  explicit MpiRank(MpiExchange& exchange) : exchange_(exchange) {}

  /// Runs a program. All ranks call it for the same programs.
  /// @param look is called on workers after the program, before anything is freed
  /// Errors: those of a program, on every rank. The message is empty where another rank reports it.
  Status run(const WorkerSetting& setting, const BlockServer::Options& server,
             const std::function<void(Worker&)>& look);
  /// Returns the most memory of each server in the last program. For workers.
  const std::vector<ServerPeaks>& server_peaks() const noexcept { return server_peaks_; }

 private:
  Status run_worker(const WorkerSetting& setting, const std::function<void(Worker&)>& look);
  Status run_server(const WorkerSetting& setting, BlockServer::Options options);
  Status interpret(Worker& worker);
  Status finish(const WorkerSetting& setting);
  void tell_failure(int status);

  MpiExchange& exchange_;
  std::deque<Message> early_;  // messages of the next program
  std::vector<ServerPeaks> server_peaks_;
};

}  // namespace ob::sial
