#pragma once
// Measurements of earlier runs on this host: of a server and the way to it, or of a library.
// Plain text, a line each; docs/decision.md has the format.

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

  std::string key;                  ///< of what: says itself whether the profile is the right one
  std::int64_t written_unix_s = 0;  ///< 0: never, there is no such profile
  Link link;
  ByRoutine<Run> local;
  ByRoutine<Run> device;
  ByRoutine<Whole> whole;

  bool exists() const noexcept { return written_unix_s != 0; }
};

/// `folder`/`kind`-<hash of key>.profile
std::string profile_path(std::string_view folder, std::string_view kind, std::string_view key);

/// An absent file, or one of another key, is a profile that does not exist.
/// Errors: invalid_argument for a file that is no profile, naming it and its line
Result<Profile> read_profile(const std::string& path, std::string_view key);

/// Replaces the file at once, with folders on the way (0700). written_unix_s is set by the caller.
/// Errors: unavailable, with the reason
Status write_profile(const std::string& path, const Profile& profile);

/// The parts of read_profile() and write_profile() without files.
Result<Profile> parse_profile(std::string_view text);
std::string format_profile(const Profile& profile);

/// Takes what `fresh` has measured over what `kept` has: size by size (powers of two), routine by
/// routine; a link as a whole.
void merge(Profile& kept, const Profile& fresh);

}  // namespace ob::policy
