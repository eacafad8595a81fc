#pragma once
// The signals of a process that runs a command for its user, and the processes that it starts.

#include <spawn.h>
#include <sys/types.h>
#include <csignal>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace ob::apps {

/// A process that was started, or the error number that says why it was not.
struct Started {
  pid_t process = -1;
  int problem = 0;
};

/// Reaps `child` if it has ended. Returns its exit status, or -N after signal N; nothing if it has
/// not ended.
std::optional<int> exit_status(pid_t child);

/// Holds the signals back that are passed on to the command, until all is cleaned up, so that no
/// signal ends us before.
/// Threads: one object in a process, made before there are threads
class SignalsHeld {
 public:
  struct Options {
    bool own_session = false;
  };

  SignalsHeld();
  /// A signal that came after the command ended has no receiver any more.
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

  /// Returns the descriptor that can be read while a signal waits.
  int descriptor() const { return descriptor_.get(); }
  /// Returns a signal that came in the meantime and would have ended us: its number.
  std::optional<int> early() const;
  /// Takes the signals that wait. Those of users and programs go to `child`; those that the
  /// terminal sends have reached it already.
  void forward(pid_t child) const;
  /// Waits for the end of a child. Returns false after the deadline.
  bool await_child(std::chrono::steady_clock::time_point deadline) const;
  /// Starts `command` with the signals as they were before.
  Started spawn(const std::vector<std::string>& command, char* const* environment,
                const posix_spawn_file_actions_t* files, Options options) const;

 private:
  sigset_t watched_, before_;
  Fd descriptor_;
};

}  // namespace ob::apps
