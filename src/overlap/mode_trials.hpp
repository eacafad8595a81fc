#pragma once
// The choice of a mode by the times of a plan's own iterations.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "overlap/change_watch.hpp"
#include "overlap/mode.hpp"

namespace ob::overlap {

/// Runs each candidate for a few iterations, those that are nearly the fastest for as many again,
/// and then the fastest one. Tries all again after many iterations, or when they take another time
/// than in the trial. All ranks call next() equally often, so they are at the same point without a
/// message.
/// Threads: one at a time.
class ModeTrials {
 public:
  /// The median of 5 is not moved by two disturbed iterations. The iteration before them carries
  /// the change from the mode before, so it does not count.
  static constexpr int kTimed = 5;
  static constexpr int kPerMode = kTimed + 1;
  /// Candidates whose times are at most this multiple of the least are in the second round. Each
  /// mode is tried at another time, and one of them may have been disturbed.
  static constexpr double kClose = 1.25;
  static constexpr std::int64_t kRetry = 1000;  ///< the problem may have changed after so many

  /// @pre !candidates.empty()
  explicit ModeTrials(std::vector<Mode> candidates);

  /// Returns the mode of the next iteration.
  /// @pre !due()
  Mode next();
  /// Adds the time of the iteration that the last next() began.
  void record(double seconds);
  /// Returns true if choose() must follow: every candidate of a round has been timed, or the times
  /// of the chosen one are to be compared with those of its trial.
  bool due() const noexcept;
  /// Returns the median time of each candidate, or of the last iterations [s].
  std::vector<double> medians() const;
  /// Chooses the fastest by the medians on which all ranks agree, or begins the second round, or
  /// tries all again if the time has changed.
  void choose(const std::vector<double>& agreed);

  const std::vector<Mode>& candidates() const noexcept { return candidates_; }
  /// Returns the times of the last choice, empty before it.
  const std::vector<double>& agreed() const noexcept { return agreed_; }
  /// Returns the mode of the last choice, or Mode::automatic before it.
  Mode chosen() const noexcept { return chosen_; }

 private:
  void try_all();

  std::vector<Mode> candidates_;
  std::vector<std::vector<double>> times_;  ///< of each candidate, of both rounds
  std::vector<std::size_t> tried_;          ///< the candidates of this round
  bool second_ = false;                     ///< it is the second round
  std::vector<double> agreed_;
  Mode chosen_ = Mode::automatic;
  double chosen_s_ = 0;
  bool trying_ = true;
  std::int64_t iteration_ = 0;  ///< since the round or the choice began
  ChangeWatch watch_;
};

}  // namespace ob::overlap
