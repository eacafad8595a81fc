#include "interpose/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/decimal.hpp"
#include "transport/striped_stream.hpp"

namespace ob::interpose {
namespace {

using offload::Config;
using offload::Mode;

// Connections of one process are bounded, and each device takes one for every thread that calls.
constexpr std::size_t kMaxDevices = 16;
constexpr auto kMaxStreams = static_cast<unsigned>(transport::StripedStream::kMaxStreams);

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view part = list.substr(0, comma);
    while (!part.empty() && is_space(part.front())) part.remove_prefix(1);
    while (!part.empty() && is_space(part.back())) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return parts;
}

bool is_on(std::string_view value) {
  return !value.empty() && value != "0" && value != "no" && value != "off" && value != "false";
}

// "512M", "4GiB", "1000000"; nothing if it is none of these.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with("iB"))
    unit.remove_suffix(2);
  else if (unit.ends_with("B"))
    unit.remove_suffix(1);
  constexpr std::string_view kUnits = "KMGT";
  int shift = 0;
  if (!unit.empty()) {
    const std::size_t power = kUnits.find(unit.front());
    if (unit.size() > 1 || power == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<int>(power) + 1);
  }
  return value > UINT64_MAX >> shift ? UINT64_MAX : value << shift;
}

// The first thing that made no sense is what the program's user hears of.
void complain(Config& settings, const char* name, std::string_view value, const std::string& why) {
  if (settings.complaint.empty())
    settings.complaint = std::string(name) + "=" + std::string(value) + " " + why;
}

void read_report(std::string_view text, Config& settings) {
  if (text.starts_with("dir:")) {
    settings.report_directory = text.substr(4);
    return;
  }
  settings.report_to_stderr = is_on(text);
  constexpr std::string_view kMeaningful[] = {"",     "stderr", "1",  "yes", "on",
                                              "true", "0",      "no", "off", "false"};
  for (const std::string_view known : kMeaningful) {
    if (text == known) return;
  }
  complain(settings, "OUTBOARD_REPORT", text, "is not stderr or dir:PATH (stderr is used)");
}

void read_resident(std::string_view text, Config& settings) {
  if (text.empty() || text == "auto") return;
  settings.resident_bytes = text == "off" ? 0 : parse_size(text);
  if (settings.resident_bytes) return;
  complain(settings, "OUTBOARD_RESIDENT", text,
           "is no size, off or auto (write 512M or 4GiB; auto is used)");
}

void read_streams(std::string_view text, Config& settings) {
  if (text.empty()) return;
  unsigned streams = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), streams);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && streams >= 1 && streams <= kMaxStreams) {
    settings.streams = streams;
  } else {
    const std::string why =
        "is no number of streams (write 1 to " + std::to_string(kMaxStreams) + "; 1 is used)";
    complain(settings, "OUTBOARD_STREAMS", text, why);
  }
}

// "3", "all" or, for tests, "always:3".
void read_devices(std::string_view text, Config& settings) {
  constexpr std::string_view kAlways = "always:";
  if (text.empty()) return;
  std::string_view number = text;
  const bool always = text.starts_with(kAlways);
  if (always) number.remove_prefix(kAlways.size());
  std::size_t devices = 0;
  const char* const last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, devices);
  const bool is_number = error == std::errc() && end == last && devices > 0;
  if (number == "all" || is_number) {
    settings.devices = is_number ? std::min(devices, kMaxDevices) : kMaxDevices;
    settings.always_several = always;
  } else {
    complain(settings, "OUTBOARD_DEVICES", text, "is no number of devices, or all (1 is used)");
  }
}

void read_route(std::string_view text, Config& settings) {
  if (text.empty() || text == "auto") return;
  if (text == "ring") {
    settings.route = algorithms::Route::ring;
  } else if (text == "relay") {
    settings.route = algorithms::Route::relay;
  } else {
    complain(settings, "OUTBOARD_ROUTE", text, "is not auto, ring or relay (auto is used)");
  }
}

// Where it is by default: the XDG base directory specification, version 0.8.
void read_profile(std::string_view text, Config& settings) {
  if (text == "off") return;
  settings.profile_folder = text;
  if (!text.empty()) return;
  constexpr std::string_view kInside = "/outboard/profiles";
  const std::string_view state = variable("XDG_STATE_HOME");
  const std::string_view home = variable("HOME");
  if (state.starts_with('/')) {
    settings.profile_folder.append(state).append(kInside);
  } else if (home.starts_with('/')) {
    settings.profile_folder.append(home).append("/.local/state").append(kInside);
  }
}

void read_share(std::string_view text, Config& settings) {
  if (text.empty() || text == "auto") return;
  const auto part = text == "off" ? std::optional(0.0) : from_decimal(text);
  if (part && *part >= 0 && *part < 1) {
    settings.share = part;
  } else {
    complain(settings, "OUTBOARD_SHARE", text,
             "is not auto, off or between 0 and 1 (auto is used)");
  }
}

void read_accuracy(std::string_view text, Config& settings) {
  if (text.empty()) return;
  if (const auto accuracy = offload::accuracy_named(text)) {
    settings.accuracy = *accuracy;
  } else {
    complain(settings, "OUTBOARD_ACCURACY", text,
             "is not standard, strict, fast or emulated (standard is used)");
  }
}

void read_verify(std::string_view text, Config& settings) {
  settings.verify = text == "1";
  if (text.empty() || text == "0" || text == "1") return;
  complain(settings, "OUTBOARD_VERIFY", text, "is not 0 or 1 (0 is used: nothing is checked)");
}

}  // namespace

offload::Config read_settings() {
  Config settings;
  const std::string_view mode = variable("OUTBOARD_MODE");
  if (mode == "off")
    settings.mode = Mode::off;
  else if (mode == "trace")
    settings.mode = Mode::trace;
  else if (mode == "remote")
    settings.mode = Mode::remote;
  else if (!mode.empty() && mode != "auto") {
    complain(settings, "OUTBOARD_MODE", mode, "is not off, trace, auto or remote (auto is used)");
  }
  const std::string_view servers = variable("OUTBOARD_SERVER");
  settings.servers = split(servers.empty() ? variable("RCPU_SERVER") : servers);
  settings.quiet = is_on(variable("OUTBOARD_QUIET"));
  read_report(variable("OUTBOARD_REPORT"), settings);
  const std::string_view native_plan = variable("OUTBOARD_NATIVE_PLAN");  // read by fftw_entry.cpp
  if (!native_plan.empty() && native_plan != "estimate" && native_plan != "as-asked") {
    complain(settings, "OUTBOARD_NATIVE_PLAN", native_plan,
             "is not estimate or as-asked (estimate is used)");
  }
  settings.trace_path = variable("OUTBOARD_TRACE");
  settings.routines = split(variable("OUTBOARD_ROUTINES"));
  read_resident(variable("OUTBOARD_RESIDENT"), settings);
  settings.track_pages = is_on(variable("OUTBOARD_TRACK_PAGES"));
  read_devices(variable("OUTBOARD_DEVICES"), settings);
  read_route(variable("OUTBOARD_ROUTE"), settings);
  read_streams(variable("OUTBOARD_STREAMS"), settings);
  settings.key_folder = variable("OUTBOARD_KEY");
  settings.plain = is_on(variable("OUTBOARD_PLAIN"));
  read_profile(variable("OUTBOARD_PROFILE"), settings);
  settings.learn = is_on(variable("OUTBOARD_LEARN"));
  read_share(variable("OUTBOARD_SHARE"), settings);
  read_accuracy(variable("OUTBOARD_ACCURACY"), settings);
  read_verify(variable("OUTBOARD_VERIFY"), settings);
  return settings;
}

}  // namespace ob::interpose
