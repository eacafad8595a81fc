#pragma once
// Measures whether driving the program's messages gains anything.

#include <array>
#include <cstdint>
#include <vector>

#include "overlap/change_watch.hpp"

namespace ob::overlap {

/// Switches the driver on and off in turns, and compares the time that the program takes from one
/// completion to the next at the same place of its code. An unmodified program names no
/// iterations, but a loop comes back to the same call. The trial is repeated after many iterations,
/// or when they take another time than in the trial. Threads: one at a time.
class GainTrial {
 public:
  static constexpr int kBlock = 6;          ///< arrivals of a block; the first interval is dropped
  static constexpr int kBlocks = 3;         ///< of each state
  static constexpr int kFirstArrivals = 4;  ///< before a place counts as a loop
  static constexpr int kAgain = 1000;       ///< arrivals after which the trial starts again
  static constexpr int kLost = 200;  ///< arrivals elsewhere after which the loop is over, and with
                                     ///< it the decision
  static constexpr double kLeastGain = 0.01;

  /// Tells of the end of a completion call at `place`.
  void arrive(std::uintptr_t place, std::int64_t now_ns);

  /// Returns true if the driver is to run.
  bool driving() const noexcept { return driving_; }
  bool decided() const noexcept { return state_ == State::decided; }
  /// Returns the median time of an iteration with and without the driver [ns], of the last trial
  /// that ended; 0 before.
  std::int64_t with_ns() const noexcept { return with_ns_; }
  std::int64_t without_ns() const noexcept { return without_ns_; }

 private:
  enum class State { looking, trying, decided };
  void look(std::uintptr_t place);
  void measure(std::int64_t now_ns);
  void decide();
  void watch(std::int64_t now_ns);
  void restart(bool driving);

  State state_ = State::looking;
  bool driving_ = true;
  std::uintptr_t place_ = 0;
  std::int64_t last_ns_ = 0;
  int in_block_ = 0;
  int blocks_ = 0;
  int arrivals_ = 0;                                    ///< at the place, since the decision
  int elsewhere_ = 0;                                   ///< since the last arrival at the place
  std::array<std::vector<std::int64_t>, 2> intervals_;  ///< without and with the driver
  struct Seen {
    std::uintptr_t place;
    int arrivals;
  };
  std::vector<Seen> seen_;
  std::int64_t with_ns_ = 0;
  std::int64_t without_ns_ = 0;
  ChangeWatch watch_;
};

}  // namespace ob::overlap
