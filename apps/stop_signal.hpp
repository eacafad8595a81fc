#pragma once
// Handles SIGTERM and SIGINT, which end the process in time, even if its devices do not respond,
// and SIGHUP.

#include <memory>

namespace ob::apps {

/// Ends the process in order on SIGINT or SIGTERM. A thread waits for either signal from the
/// construction on.
/// Threads: owner only, before it starts any other
class StopSignal {
 public:
  /// The exit status of a process whose devices or libraries did not finish in time.
  static constexpr int kAborted = 3;

  /// Blocks the signals for this thread and all that it starts.
  /// @param takes_hangup whether SIGHUP is one of them; otherwise it ends the process
  explicit StopSignal(bool takes_hangup);
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Before this call a signal ends the process at once with status 0, because it has served
  /// nobody. After this call the process has `bound_s` seconds after the signal to end by itself.
  /// Otherwise it is ended with kAborted, or with what abort_with() said.
  void serving(double bound_s);
  /// Changes the status of a process that does not end by itself.   Threads: any
  void abort_with(int status);
  /// Waits for the next SIGHUP, or for the signal that ends the process.
  /// @returns the signal   @pre serving() was called
  int wait();

 private:
  struct State;
  static void watch(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;  // shared with a thread that runs until the process ends
};

}  // namespace ob::apps
