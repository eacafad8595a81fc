#pragma once
// Measurements of earlier runs on this host: of a server and its link, or of a library. The file is
// plain text with one entry per line; docs/decision.md has the format.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/link.hpp"
#include "base/status.hpp"

namespace ob::policy {

struct Profile {
  struct Run {
    double flop = 0;
    double seconds = 0;
  };
  struct Whole {
    double flop = 0;
    double predicted_s = 0;
    double seen_s = 0;
  };
  /// Entries by routine ("dgemm", "fftw c2c").
  template <class Entry>
  using ByRoutine = std::map<std::string, std::vector<Entry>, std::less<>>;

  std::string key;                  ///< names the measured object; must match
  std::int64_t written_unix_s = 0;  ///< 0: never, there is no such profile
  Link link;
  ByRoutine<Run> local;
  ByRoutine<Run> device;
  ByRoutine<Whole> whole;

  bool exists() const noexcept { return written_unix_s != 0; }
};

/// Returns `folder`/`kind`-<hash of key>.profile.
std::string profile_path(std::string_view folder, std::string_view kind, std::string_view key);

/// Reads a profile. An absent file, or one with another key, gives a profile that does not exist.
/// Errors: invalid_argument for a file that is no profile; the message names it and the line
Result<Profile> read_profile(const std::string& path, std::string_view key);

/// Replaces the file at once; makes missing folders (0700). The caller sets written_unix_s.
/// Errors: unavailable, with the reason
Status write_profile(const std::string& path, const Profile& profile);

/// Do the work of read_profile() and write_profile() without files.
Result<Profile> parse_profile(std::string_view text);
std::string format_profile(const Profile& profile);

/// Replaces measurements in `kept` by those in `fresh`: size by size (powers of two), routine by
/// routine; a link as a whole.
void merge(Profile& kept, const Profile& fresh);

}  // namespace ob::policy
