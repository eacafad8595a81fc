#pragma once
// SIGTERM and SIGINT, which end the process in time whatever its devices do.

#include <memory>

namespace ob::apps {

/// From its construction on a thread waits for either signal.
/// Threads: owner only, before it starts any other
class StopSignal {
 public:
  /// What the process ends with where something had to be given up.
  static constexpr int kGivenUp = 3;

  /// Blocks both signals for this thread and all that it starts.
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Up to here a signal ends the process at once with status 0: it has served nobody. From now on
  /// the process has `bound_s` seconds after the signal to end by itself, else it is ended with
  /// kGivenUp.
  void serving(double bound_s);
  /// @returns the signal, when it has come   @pre serving() was called
  int wait();

 private:
  struct State;
  static void watch(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // shared with a thread that outlives everything
};

}  // namespace ob::apps
