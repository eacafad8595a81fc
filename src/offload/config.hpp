#pragma once
// The settings of an engine, as a value.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/exchange/exchange_model.hpp"
#include "base/accuracy.hpp"

namespace ob::offload {

enum class Mode { off, trace, automatic, remote };

/// The settings of one engine. Each comment names the environment variable that the drop-in library
/// reads the value from; docs/cli.md explains them.
struct Config {
  Mode mode = Mode::automatic;       ///< OUTBOARD_MODE
  std::vector<std::string> servers;  ///< OUTBOARD_SERVER, or RCPU_SERVER
  /// OUTBOARD_LEASE: the lease whose devices are used where no server is named
  std::string lease;
  /// OUTBOARD_LEASE_ANSWER: the file in which `outboard run` hands it over. Its name is the lease's
  std::string lease_answer;
  /// The rank of this process in an MPI program of several: its devices of the lease. Of Open
  /// MPI's, MPICH's and Slurm's variables
  std::optional<unsigned> rank;
  /// OUTBOARD_POOL: the manager that knows the lease; without one, the process asks for a lease of
  /// its own once its calls would gain
  std::string pool_url;
  /// OUTBOARD_POOL_GFLOPS: devices of such a lease do products at least so fast; empty: faster than
  /// this machine's cores
  std::optional<double> pool_gflops;
  /// OUTBOARD_OWN_CORES: the server is a daemon of this command that starts with the first
  /// connection, on a machine without accelerators
  bool own_cores = false;
  std::string own_kernels;  ///< OPENBLAS_CORETYPE, which such a daemon inherits
  /// OUTBOARD_FIRST_WAIT: how long calls in mode auto wait for the first connection
  std::chrono::milliseconds first_wait{20};
  bool quiet = false;             ///< OUTBOARD_QUIET: not even one line on stderr
  bool report_to_stderr = false;  ///< OUTBOARD_REPORT=stderr
  std::string report_directory;   ///< OUTBOARD_REPORT=dir:PATH
  std::string trace_path;         ///< OUTBOARD_TRACE, without the process id
  /// OUTBOARD_ROUTINES: names and patterns, "-" in front denies
  std::vector<std::string> routines;
  /// OUTBOARD_RESIDENT: device memory in bytes for operands that stay there between calls; 0: no
  /// operand stays; empty: a share of the device's memory
  std::optional<std::uint64_t> resident_bytes;
  /// OUTBOARD_DEVICES: how many devices may work on one call
  std::size_t devices = 1;
  bool always_several = false;  ///< OUTBOARD_DEVICES=always:N: on every call that can be cut
  /// OUTBOARD_ROUTE: the route between the devices of one call; empty: the fastest one
  std::optional<algorithms::Route> route;
  unsigned streams = 1;  ///< OUTBOARD_STREAMS: number of streams of a connection over TCP
  /// OUTBOARD_TRACK_PAGES: an operand is unchanged if the kernel reports that nobody wrote to it
  bool track_pages = false;
  std::string key_folder;      ///< OUTBOARD_KEY, see transport::load_key(); empty: none
  bool plain = false;          ///< OUTBOARD_PLAIN: authenticated peers may send data unencrypted
  std::string profile_folder;  ///< OUTBOARD_PROFILE, with a folder per host in it; empty: none
  bool learn = false;          ///< OUTBOARD_LEARN: measurements go into the profile
  /// OUTBOARD_SHARE: the part of a product that the accelerator computes while the caller's library
  /// computes the rest; 0: none; empty: the fastest part, found by trying
  std::optional<double> share = 0;
  Accuracy accuracy = Accuracy::standard;  ///< OUTBOARD_ACCURACY
  bool verify = false;                     ///< OUTBOARD_VERIFY: results of remote calls are checked
  /// the first invalid setting of the environment, for which the default is used
  std::string complaint;

  /// True if there is a server to use.
  bool names_servers() const noexcept {
    return !servers.empty() || !lease.empty() || !pool_url.empty();
  }
  /// True if the process takes a lease of its own.
  bool takes_lease() const noexcept {
    return servers.empty() && lease.empty() && !pool_url.empty();
  }
  /// True if the routine may leave this process. The last matching pattern decides. If none
  /// matches, the routine may leave only if all patterns are denials. Patterns have * and ? as in
  /// file names.
  bool allows(std::string_view routine) const noexcept;
};

/// The words for the modes, in the order of Accuracy.
inline constexpr std::string_view kAccuracyNames[kAccuracies] = {"standard", "strict", "fast",
                                                                 "emulated"};
/// The mode with this name; empty for other words.
std::optional<Accuracy> accuracy_named(std::string_view name) noexcept;

}  // namespace ob::offload
