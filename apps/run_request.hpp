#pragma once
// What `outboard run` is asked for, if it is the usual.

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ob::apps {

/// One `outboard run`: a command, and where its calls go.
struct RunRequest {
  std::string mode;                  ///< auto, remote, trace or off
  std::vector<std::string> servers;  ///< addresses of daemons; empty: none is named
  bool has_pool = false;             ///< OUTBOARD_POOL or OUTBOARD_LEASE names a pool
  std::vector<std::string> command;

  /// True if a daemon of its own serves the command.
  bool needs_daemon() const {
    return servers.empty() && !has_pool && (mode == "auto" || mode == "remote");
  }
};

/// Reads the words after `outboard`, and the variables of the mode and the servers.
/// Returns nothing if there are other options than --mode and --server, or a value is wrong. The
/// whole command line then does what is asked for, or says what is wrong.
std::optional<RunRequest> usual_run(std::span<const std::string> words);

}  // namespace ob::apps
