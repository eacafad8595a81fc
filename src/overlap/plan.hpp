#pragma once
// A committed communication pattern, and one run of it after another.

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "overlap/exchange.hpp"
#include "overlap/mode_trials.hpp"
#include "overlap/mpi_calls.hpp"
#include "overlap/region_checks.hpp"

namespace ob::overlap {

/// The measurements of a plan in one mode.
struct ModeTimes {
  std::int64_t runs = 0;
  double start_s = 0;   ///< in start()
  double wait_s = 0;    ///< in wait()
  double moving_s = 0;  ///< from start() until the last message was complete
};

/// Threads: begin() and drive() belong to the driver of the run, which is the program's thread or
/// the proxy; the rest belongs to the program, one thread at a time.
class Plan {
 public:
  /// @param comm a communicator of the plan's own
  Plan(std::string name, Communicator comm, int world_rank);

  const std::string& name() const noexcept { return name_; }
  const Communicator& comm() const noexcept { return comm_; }
  int world_rank() const noexcept { return world_rank_; }
  bool committed() const noexcept { return exchange_ != nullptr; }

  /// The messages, before commit().
  std::vector<Message>& described() noexcept { return described_; }
  /// Keeps the first failure of a description for commit(), and returns `status`.
  Status keep(const Status& status);
  /// The cells that can be updated during a run, and the others. Halo plans only.
  struct Cells {
    Box interior;
    std::vector<Box> boundary;
  };
  std::optional<Cells> cells;

  /// Compares both ends of each message and makes the requests. Collective.
  Status commit(bool check, std::vector<Mode> candidates);

  // --- one run ---
  /// Returns the mode of the next run. Collective when a choice is due.
  Result<Mode> next_mode();
  /// Errors: invalid_argument if a run is under way; the failure of an earlier run.
  Status prepare(Mode mode, bool hold_sends);
  /// The outcome of a call of the driver. If the run is over, the plan belongs to the program
  /// again, and the driver must not touch it.
  struct Progress {
    bool moved = false;
    bool over = false;
  };
  /// Starts the messages. Threads: the driver.
  Progress begin() noexcept;
  /// Moves the messages. Threads: the driver.
  Progress drive() noexcept;
  /// Releases each held send whose cells are all in the boxes that were declared ready.
  Status ready(const Box& box);
  void release_all();
  bool under_way() const noexcept { return under_way_; }
  /// Returns true if the run is complete or has failed.
  bool over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// Ends a run that is over. Returns its failure.
  Status finish();

  Mode mode() const noexcept { return mode_; }
  const Exchange& exchange() const noexcept { return *exchange_; }
  /// Returns the rank in comm() of the neighbour that failed, or -1.
  int failed_neighbour() const noexcept;
  /// Adds the time that the program spent in start() or wait().
  void add_start(double seconds) { times_[std::size_t(mode_)].start_s += seconds; }
  void add_wait(double seconds);

  const std::array<ModeTimes, kModes>& times() const noexcept { return times_; }
  const std::optional<ModeTrials>& trials() const noexcept { return trials_; }
  const std::vector<double>& waited_for() const noexcept { return waited_for_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  /// Returns the shortest time that the messages of a run took [s], or 0 before the first.
  double wire_s() const noexcept { return wire_s_; }

  Plan* next_posted = nullptr;  ///< the link of the proxy's inbox

 private:
  Progress progress(Status status, bool moved) noexcept;
  void note_run();

  std::string name_;
  Communicator comm_;
  int world_rank_;
  std::vector<Message> described_;
  Status description_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<RegionChecks> checks_;
  std::optional<ModeTrials> trials_;
  std::vector<std::vector<Box>> not_ready_;  ///< of each message, the cells that hold it

  Mode mode_ = Mode::sync;
  bool under_way_ = false;
  std::atomic<bool> over_{true};
  Status failure_;
  std::int64_t began_ns_ = 0;
  std::int64_t bytes_ = 0;
  double wire_s_ = 0;
  std::array<ModeTimes, kModes> times_{};
  std::vector<double> waited_for_;  ///< seconds in wait(), by the message that came last
};

}  // namespace ob::overlap
