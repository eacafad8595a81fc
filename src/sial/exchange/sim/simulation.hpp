#pragma once
// All ranks of a job in one process and one thread.

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sial/server/server.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {

/// Runs the workers and servers of one program in turns.
///
/// With seed 0 each worker runs until it must wait, and messages arrive at once. With another seed
/// a random generator chooses who runs, for how many instructions, and which message arrives next.
/// Messages from one rank to another keep their order. One seed always gives the same run.
/// Threads: owner only
class Simulation final : public Exchange {
 public:
  /// @param setting its `workers` and `servers` are created
  Simulation(const WorkerSetting& setting, const BlockServer::Options& server, std::uint64_t seed);
  ~Simulation() override;

  /// Runs the program.   Errors: invalid_argument with the message for the user; unavailable after
  /// `stop`
  Status run();

  void send(Message message) override;
  Worker& worker(Rank rank) { return *workers_[rank]; }
  BlockServer& server(Rank rank) { return *servers_[rank]; }
  /// Returns the most memory of each server.
  std::vector<ServerPeaks> server_peaks() const;

 private:
  using Channel = std::deque<Message>;

  bool deliver_one();
  void deliver_to_server(const Message& message);
  Status run_worker(Rank rank);

  WorkerSetting setting_;
  std::mt19937_64 random_;
  const bool in_order_;
  const bool servers_limited_;
  BlockPool pool_;  // of blocks on their way from servers with a limit
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<BlockServer>> servers_;
  struct Queued {
    std::uint64_t bytes = 0, peak_bytes = 0;
  };
  std::vector<Queued> queued_;     // per server: blocks in messages that it has not handled
  std::vector<Channel> channels_;  // from x ranks + to
  std::vector<std::size_t> full_;  // numbers of the channels that hold messages
  std::vector<Outcome> outcomes_;
  Rank finished_ = 0;
};

}  // namespace ob::sial
