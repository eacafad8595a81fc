#include "policy/profile.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/decimal.hpp"
#include "base/fd.hpp"
#include "policy/size_table.hpp"

namespace ob::policy {
namespace {

constexpr std::string_view kFirstLine = "outboard-profile 1";
constexpr std::size_t kMostBytes = 4 << 20;  // limit of a file; thousands of lines
constexpr const char* kTo = "to";
constexpr const char* kFrom = "from";

class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view word() {
    const std::size_t blank = rest_.find(' ');
    const std::string_view found = rest_.substr(0, blank);
    rest_ = blank == std::string_view::npos ? std::string_view() : rest_.substr(blank + 1);
    return found;
  }
  std::optional<double> positive() {
    const auto value = from_decimal(word());
    return value && *value > 0 && *value < 1e300 ? value : std::nullopt;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

void append(std::string& text, double value) { text.append(" ").append(to_decimal(value)); }

bool parse_link(Words& words, Link& link) {
  const std::string_view what = words.word();
  const auto first = words.positive();
  if (!first) return false;
  if (what == "round_trip") {
    link.round_trip_s = *first;
    return words.rest().empty();
  }
  const auto seconds = words.positive();
  if (!seconds || !words.rest().empty()) return false;
  if (what == kTo) {
    link.to.add(*first, *seconds);
  } else if (what == kFrom) {
    link.from.add(*first, *seconds);
  }
  return true;
}

bool parse_run(Words& words, Profile::ByRoutine<Profile::Run>& runs) {
  const auto flop = words.positive();
  const auto seconds = words.positive();
  if (!flop || !seconds || words.rest().empty()) return false;
  runs[std::string(words.rest())].push_back({*flop, *seconds});
  return true;
}

bool parse_whole(Words& words, Profile::ByRoutine<Profile::Whole>& calls) {
  const auto flop = words.positive();
  const auto predicted = words.positive();
  const auto seen = words.positive();
  if (!flop || !predicted || !seen || words.rest().empty()) return false;
  calls[std::string(words.rest())].push_back({*flop, *predicted, *seen});
  return true;
}

bool parse_written(Words& words, Profile& profile) {
  const auto seconds = words.positive();
  if (!seconds || *seconds > 1e15) return false;
  profile.written_unix_s = static_cast<std::int64_t>(*seconds);
  return true;
}

bool parse_line(std::string_view line, Profile& profile) {
  Words words(line);
  const std::string_view what = words.word();
  if (what == "key") {
    profile.key = words.rest();
    return !profile.key.empty();
  }
  if (what == "written") return parse_written(words, profile);
  if (what == "link") return parse_link(words, profile.link);
  if (what == "local") return parse_run(words, profile.local);
  if (what == "device") return parse_run(words, profile.device);
  if (what == "whole") return parse_whole(words, profile.whole);
  return true;  // a line of a later version
}

// Times in the file are measured times with the round trip. The times of a Link are without it.
TransferTimes besides(const TransferTimes& seen, double round_trip_s) {
  TransferTimes found;
  for (const auto& sample : seen.samples()) {
    found.add(sample.bytes, std::max(sample.seconds - round_trip_s, 0.1 * sample.seconds));
  }
  return found;
}

double last_rate(const TransferTimes& times) {
  return times.known() ? times.samples().back().bytes / times.samples().back().seconds : 0;
}

void complete(Link& link) {
  link.to = besides(link.to, link.round_trip_s);
  link.from = besides(link.from, link.round_trip_s);
  link.to_bytes_per_s = last_rate(link.to);
  link.from_bytes_per_s = last_rate(link.from);
  if (!link.to.known() || !link.from.known()) link = {};
}

void append_link(std::string& text, const Link& link) {
  if (!link.to.known() || !link.from.known()) return;
  text += "link round_trip";
  append(text, link.round_trip_s);
  text += "\n";
  for (const bool to : {true, false}) {
    for (const auto& sample : (to ? link.to : link.from).samples()) {
      text.append("link ").append(to ? kTo : kFrom);
      append(text, sample.bytes);
      append(text, sample.seconds + link.round_trip_s);
      text += "\n";
    }
  }
}

void append_runs(std::string& text, const char* word,
                 const Profile::ByRoutine<Profile::Run>& runs) {
  for (const auto& [routine, entries] : runs) {
    for (const auto& run : entries) {
      text += word;
      append(text, run.flop);
      append(text, run.seconds);
      text += " " + routine + "\n";
    }
  }
}

Status failed(const std::string& what, const std::string& path) {
  return {Code::unavailable, "cannot " + what + " " + path + " (" + std::strerror(errno) + ")"};
}

Status make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return failed("make", folder);
  }
  return {};
}

template <class Entry>
void merge_entries(Profile::ByRoutine<Entry>& kept, const Profile::ByRoutine<Entry>& fresh) {
  for (const auto& [routine, entries] : fresh) {
    std::vector<Entry>& all = kept[routine];
    for (const Entry& entry : entries) {
      std::erase_if(all, [&](const Entry& old) {
        return SizeTable::bucket(old.flop) == SizeTable::bucket(entry.flop);
      });
      all.push_back(entry);
    }
    std::sort(all.begin(), all.end(),
              [](const Entry& a, const Entry& b) { return a.flop < b.flop; });
  }
}

}  // namespace

std::string profile_path(std::string_view folder, std::string_view kind, std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return std::string(folder) + "/" + std::string(kind) + "-" + digits + ".profile";
}

Result<Profile> parse_profile(std::string_view text) {
  Profile profile;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (number == 1 ? line == kFirstLine : line.empty() || parse_line(line, profile)) continue;
    std::string what = "line ";
    what.append(std::to_string(number)).append(" makes no sense: ").append(line.substr(0, 60));
    return Status(Code::invalid_argument, what);
  }
  if (profile.key.empty() || profile.written_unix_s == 0)
    return Status(Code::invalid_argument, "a profile has lines `key` and `written`");
  complete(profile.link);
  return profile;
}

std::string format_profile(const Profile& profile) {
  std::string text = std::string(kFirstLine) + "\nkey " + profile.key + "\nwritten " +
                     std::to_string(profile.written_unix_s) + "\n";
  append_link(text, profile.link);
  append_runs(text, "local", profile.local);
  append_runs(text, "device", profile.device);
  for (const auto& [routine, calls] : profile.whole) {
    for (const auto& call : calls) {
      text += "whole";
      for (const double value : {call.flop, call.predicted_s, call.seen_s}) append(text, value);
      text += " " + routine + "\n";
    }
  }
  return text;
}

Result<Profile> read_profile(const std::string& path, std::string_view key) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Profile{};
  std::string text;
  char piece[4096];
  ssize_t got = 0;
  while (text.size() < kMostBytes && (got = ::read(file.get(), piece, sizeof piece)) > 0) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  if (got < 0) return failed("read", path);
  auto profile = parse_profile(text);
  if (!profile.ok()) {
    return Status(Code::invalid_argument, path + " is no profile (" + profile.status().message() +
                                              "); remove it, or run `outboard tune` again");
  }
  return profile->key == key ? profile : Profile{};
}

Status write_profile(const std::string& path, const Profile& profile) {
  OB_RETURN_IF_ERROR(make_folders(path));
  const std::string text = format_profile(profile);
  const std::string fresh = path + "." + std::to_string(::getpid());
  {
    const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) return failed("write", fresh);
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      const Status status = failed("write", fresh);
      ::unlink(fresh.c_str());
      return status;
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) == 0) return {};
  const Status status = failed("replace", path);
  ::unlink(fresh.c_str());
  return status;
}

void merge(Profile& kept, const Profile& fresh) {
  kept.key = fresh.key;
  kept.written_unix_s = fresh.written_unix_s;
  if (fresh.link.to.known()) kept.link = fresh.link;
  merge_entries(kept.local, fresh.local);
  merge_entries(kept.device, fresh.device);
  merge_entries(kept.whole, fresh.whole);
}

}  // namespace ob::policy
