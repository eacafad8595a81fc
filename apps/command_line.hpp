#pragma once
// The command line of outboardd. Only command_line.cpp includes the library that reads it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends.hpp"
#include "daemon/server/server.hpp"

namespace ob::apps {

/// The options of the command line. The defaults are those of its help.
struct Options {
  std::vector<std::string> listen{"127.0.0.1:7770"};
  DeviceOptions device;
  unsigned max_streams = ob::transport::StripedStream::kMaxStreams;
  std::uint32_t stripe_bytes = ob::daemon::StripingConfig().block_bytes;
  std::string isolation = "auto";
  std::string key_folder;
  bool plain = false;
  bool no_peers = false;
  std::string kernels = "native";
  std::string kernels_without_key = "off";
  std::size_t max_connections = ob::daemon::ServerConfig().max_connections;
  ob::daemon::HandshakeLimits handshakes;
  std::uint64_t session_memory_bytes = UINT64_MAX;
  std::uint64_t session_host_memory_bytes = 0;
  std::uint64_t user_memory_bytes = UINT64_MAX;
  std::uint64_t user_host_memory_bytes = 0;
  std::uint64_t idle_seconds = 24 * 3600;
  double drain_seconds = 30;
  std::string pool_url;
  std::string name;
  std::vector<std::string> advertise;
  std::map<std::string, std::string> labels;
  double manager_grace_seconds = 600;
  double self_test_seconds = 60;
  std::string without_lease;  // empty: refuse
  std::string metrics;
  bool metrics_open = false;
  std::string log_level = "info";
  bool exit_with_parent = false;
};

/// Reads the command line into `options`.
/// @returns the exit status if the program is to end now: after an error, which is on stderr, or
///          after --help and --version
std::optional<int> read_command_line(int argc, char** argv, Options& options);

}  // namespace ob::apps
