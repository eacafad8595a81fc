#pragma once
// The choice of a mode by the times of a plan's own iterations.

#include <cstdint>
#include <vector>

#include "overlap/mode.hpp"

namespace ob::overlap {

/// Runs each candidate for a few iterations, then the fastest one, and tries all again after many.
/// All ranks call next() equally often, so they are at the same point without a message.
/// Threads: one at a time.
class ModeTrials {
 public:
  /// The median of 5 is not moved by two disturbed iterations. The iteration before them carries
  /// the change from the mode before, so it does not count.
  static constexpr int kTimed = 5;
  static constexpr int kPerMode = kTimed + 1;
  static constexpr std::int64_t kRetry = 1000;  ///< the problem may have changed after so many

  /// @pre !candidates.empty()
  explicit ModeTrials(std::vector<Mode> candidates);

  /// Returns the mode of the next iteration.
  /// @pre !due()
  Mode next();
  /// Adds the time of the iteration that the last next() began.
  void record(double seconds);
  /// Returns true if every candidate has been timed, and choose() must follow.
  bool due() const noexcept;
  /// Returns the median time of each candidate [s].
  std::vector<double> medians() const;
  /// Chooses the fastest by the times on which all ranks agree.
  void choose(const std::vector<double>& agreed);

  const std::vector<Mode>& candidates() const noexcept { return candidates_; }
  /// Returns the times of the last choice, empty before it.
  const std::vector<double>& agreed() const noexcept { return agreed_; }
  /// Returns the mode of the last choice, or Mode::automatic before it.
  Mode chosen() const noexcept { return chosen_; }

 private:
  std::vector<Mode> candidates_;
  std::vector<std::vector<double>> times_;
  std::vector<double> agreed_;
  Mode chosen_ = Mode::automatic;
  bool trying_ = true;
  std::int64_t iteration_ = 0;  ///< since the trials or the choice began
};

}  // namespace ob::overlap
