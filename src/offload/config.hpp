#pragma once
// The settings of an engine, as a value.

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
  bool quiet = false;                ///< OUTBOARD_QUIET: not even the one line
  bool report_to_stderr = false;     ///< OUTBOARD_REPORT=stderr
  std::string report_directory;      ///< OUTBOARD_REPORT=dir:PATH
  std::string trace_path;            ///< OUTBOARD_TRACE, without the process id
  /// OUTBOARD_ROUTINES: names and patterns, "-" in front denies
  std::vector<std::string> routines;
  /// OUTBOARD_RESIDENT: device memory in bytes for operands that stay there between calls; 0: none
  /// do; empty: a share of the device's memory
  std::optional<std::uint64_t> resident_bytes;
  /// OUTBOARD_DEVICES: how many devices may work on one call
  std::size_t devices = 1;
  bool always_several = false;  ///< OUTBOARD_DEVICES=always:N: on every call that can be cut
  /// OUTBOARD_ROUTE: how devices of one call reach each other; empty: as it is fastest
  std::optional<algorithms::Route> route;
  unsigned streams = 1;  ///< OUTBOARD_STREAMS: that a connection over TCP is striped over
  /// OUTBOARD_TRACK_PAGES: the kernel's word that nobody wrote an operand is enough
  bool track_pages = false;
  std::string key_folder;      ///< OUTBOARD_KEY, see transport::load_key(); empty: none
  bool plain = false;          ///< OUTBOARD_PLAIN: proven peers may exchange data as they are
  std::string profile_folder;  ///< OUTBOARD_PROFILE, with a folder per host in it; empty: none
  bool learn = false;          ///< OUTBOARD_LEARN: what was measured goes into the profile
  /// OUTBOARD_SHARE: the part of a product that the accelerator computes while the caller's library
  /// computes the rest; 0: never; empty: as it is fastest
  std::optional<double> share;
  Accuracy accuracy = Accuracy::standard;  ///< OUTBOARD_ACCURACY
  bool verify = false;                     ///< OUTBOARD_VERIFY: results of remote calls are checked
  /// what in the environment made no sense; the default is used then
  std::string complaint;

  /// True if the routine may leave this process: the last matching pattern decides; without one,
  /// only-denials allow and any allowance denies.   Patterns: * and ? as in file names.
  bool allows(std::string_view routine) const noexcept;
};

/// "standard", "strict", "fast" or "emulated"; empty for other words.
std::optional<Accuracy> accuracy_named(std::string_view name) noexcept;

}  // namespace ob::offload
