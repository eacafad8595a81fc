#pragma once
// A communication pattern: the part that all kinds of plans share.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "overlap/mode_trials.hpp"
#include "overlap/mpi_calls.hpp"
#include "overlap/run.hpp"

namespace ob::overlap {

/// The measurements of a plan in one mode.
struct ModeTimes {
  std::int64_t runs = 0;
  double start_s = 0;   ///< in start()
  double wait_s = 0;    ///< in wait()
  double moving_s = 0;  ///< from start() until the last message was complete
};

/// The message for which the program waited longest.
struct LongestWait {
  double seconds = 0;
  std::string what;  ///< e.g. "a message from rank 3"
};

/// A choice of the mode that all ranks make together, and that is under way.
struct ModeChoice {
  std::vector<double> times;  ///< MPI writes to it until the request is complete
  MPI_Request request = MPI_REQUEST_NULL;
};

/// Threads: the program's, one at a time.
class Plan {
 public:
  /// @param comms communicators of the plan's own, one for each proxy
  Plan(std::string name, std::vector<Communicator> comms, int world_rank);
  virtual ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::string& name() const noexcept { return name_; }
  const Communicator& comm() const noexcept { return comms_.front(); }
  int world_rank() const noexcept { return world_rank_; }
  bool committed() const noexcept { return trials_.has_value(); }

  /// Keeps the first failure of a description for commit(), and returns `status`.
  Status keep(const Status& status);
  /// Compares the descriptions of all ranks and makes the requests. Collective.
  /// @param trace or null
  virtual Status commit(bool check, std::vector<Mode> candidates, Trace* trace) = 0;

  const std::vector<std::unique_ptr<Run>>& runs() const noexcept { return runs_; }
  /// Returns true if all runs are over.
  bool over() const noexcept;
  /// Lets all sends go that are held back.
  virtual void release_all() {}
  /// Ends the runs that the program has not waited for. Returns the first failure.
  /// @pre over()
  virtual Status finish_all() = 0;

  /// Notes that an iteration begins, for the choice of the mode.
  void note_iteration();
  /// @pre committed()
  ModeTrials& trials() noexcept { return *trials_; }
  const ModeTrials& trials() const noexcept { return *trials_; }

  std::unique_ptr<ModeChoice> choice;  ///< null: none is under way

  /// Returns the rank in comm() of the neighbour that failed, or -1.
  int failed_neighbour() const noexcept;
  /// Adds the time that the program spent in start() or wait() for a run.
  void add_start(const Run& run, double seconds);
  virtual void add_wait(const Run& run, double seconds);

  const std::array<ModeTimes, kModes>& times() const noexcept { return times_; }
  /// Returns the shortest time that the messages of a run took [s], or 0 before the first.
  double shortest_s() const noexcept { return shortest_s_; }
  /// Describes the messages for explain(), e.g. "2 messages, 4096 bytes a run".
  virtual std::string summary() const = 0;
  virtual LongestWait longest_wait() const = 0;

 protected:
  /// Returns the communicator of the messages that a proxy moves. Two proxies share none, so that
  /// MPI can work for them side by side.
  const Communicator& comm_of(std::size_t proxy) const noexcept { return comms_[proxy]; }
  std::size_t proxies() const noexcept { return comms_.size(); }
  /// Adds a run. The proxies take turns.
  void add_run(Run::Done done) {
    runs_.push_back(std::make_unique<Run>(done, runs_.size() % comms_.size()));
  }
  const Status& description() const noexcept { return description_; }
  void set_candidates(std::vector<Mode> candidates) { trials_.emplace(std::move(candidates)); }
  /// Adds the measurements of messages that moved for so long.
  void note_moved(Mode mode, double seconds);

 private:
  std::string name_;
  std::vector<Communicator> comms_;
  int world_rank_;
  Status description_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::optional<ModeTrials> trials_;
  std::int64_t iteration_began_ns_ = 0;
  double shortest_s_ = 0;
  std::array<ModeTimes, kModes> times_{};
};

}  // namespace ob::overlap
