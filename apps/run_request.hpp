#pragma once
// What `outboard run` is asked for, if it is the usual.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pool/lease_client.hpp"

namespace ob::apps {

/// One `outboard run`: a command, and where its calls go.
struct RunRequest {
  std::string mode;                  ///< auto, remote, trace or off
  std::vector<std::string> servers;  ///< addresses of daemons; empty: none is named
  std::string key;                   ///< the folder of the client's key; empty: none is named
  std::string pool;                  ///< the URL of the manager of a pool; empty: none is named
  /// Accelerators of the pool; the command holds them while it runs.
  std::optional<pool::LeaseWish> accelerators;
  bool begins_with_them = false;  ///< not before it has them, or not at all: --wait, --require
  bool has_lease = false;         ///< OUTBOARD_LEASE names a lease
  std::vector<std::string> command;

  /// True if a daemon of its own serves the command.
  bool needs_daemon() const {
    return servers.empty() && pool.empty() && !has_lease && (mode == "auto" || mode == "remote");
  }
};

/// Reads the words after `outboard`, and the variables of the mode, the servers, the key and the
/// pool. Returns nothing if there are other options than --mode, --server, --key, --pool,
/// --accelerators, --exclusive, --shared, --kind, --wait and --require, or a value is wrong. The
/// whole command line then does what is asked for, or says what is wrong. It also waits for
/// accelerators, and does without them.
std::optional<RunRequest> usual_run(std::span<const std::string> words);

}  // namespace ob::apps
