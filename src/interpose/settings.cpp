#include "interpose/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/comma_list.hpp"
#include "base/decimal.hpp"
#include "interpose/setting_table.hpp"
#include "transport/striped_stream.hpp"

namespace ob::interpose {
namespace {

using offload::Config;
using offload::Mode;
using setting_table::Setting;

static_assert(setting_table::kStreamsMax == transport::StripedStream::kMaxStreams);

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string_view text_of(const Setting& setting) {
  const std::string_view text = variable(setting.variable);
  return text.empty() ? variable(setting.older_variable) : text;
}

bool is_on(std::string_view value) {
  return !value.empty() && value != "0" && value != "no" && value != "off" && value != "false";
}

// Reads sizes such as "512M", "4GiB", "1000000". Empty for other texts.
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

// Keeps the first complaint, so that the user reads about the first wrong value.
void complain(Config& config, const Setting& setting, std::string_view text) {
  if (!config.complaint.empty()) return;
  config.complaint.append(setting.variable).append("=").append(text);
  config.complaint.append(" ").append(setting.complaint);
}

constexpr std::uint64_t kMostRanks = 1 << 24;  // as the manager of a pool takes them

template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

constexpr Word<Mode> kModes[] = {{"auto", Mode::automatic},
                                 {"remote", Mode::remote},
                                 {"trace", Mode::trace},
                                 {"off", Mode::off}};
constexpr Word<Accuracy> kAccuracyModes[] = {{"standard", Accuracy::standard},
                                             {"strict", Accuracy::strict},
                                             {"fast", Accuracy::fast},
                                             {"emulated", Accuracy::emulated}};
constexpr Word<std::optional<algorithms::Route>> kRoutes[] = {
    {"auto", std::nullopt}, {"ring", algorithms::Route::ring}, {"relay", algorithms::Route::relay}};

template <class Value, std::size_t kWords, std::size_t kChoices>
consteval bool cover(const Word<Value> (&words)[kWords],
                     const std::array<std::string_view, kChoices>& choices) {
  return std::equal(
      std::begin(words), std::end(words), choices.begin(), choices.end(),
      [](const Word<Value>& word, std::string_view choice) { return word.text == choice; });
}
static_assert(cover(kModes, setting_table::kModeChoices));
static_assert(cover(kRoutes, setting_table::kRouteChoices));
static_assert(cover(kAccuracyModes, setting_table::kAccuracyChoices));
static_assert(std::equal(std::begin(offload::kAccuracyNames), std::end(offload::kAccuracyNames),
                         setting_table::kAccuracyChoices.begin(),
                         setting_table::kAccuracyChoices.end()));

template <class Value, std::size_t kWords>
void read_choice(const Setting& setting, const Word<Value> (&words)[kWords], Value& value,
                 Config& config) {
  const std::string_view text = text_of(setting);
  if (text.empty()) return;
  const auto* const word = std::find_if(std::begin(words), std::end(words),
                                        [text](const auto& known) { return known.text == text; });
  if (word == std::end(words)) return complain(config, setting, text);
  value = word->value;
}

// Only checks the value. fftw_entry.cpp reads it.
void check_native_plan(Config& config) {
  const auto& choices = setting_table::kNativePlanChoices;
  const std::string_view text = text_of(setting_table::kNativePlan);
  if (text.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) return;
  complain(config, setting_table::kNativePlan, text);
}

void read_flags(Config& config) {
  constexpr std::pair<const Setting*, bool Config::*> kFlags[] = {
      {&setting_table::kQuiet, &Config::quiet},
      {&setting_table::kOwnCores, &Config::own_cores},
      {&setting_table::kTrackPages, &Config::track_pages},
      {&setting_table::kPlain, &Config::plain},
      {&setting_table::kLearn, &Config::learn}};
  for (const auto& [setting, flag] : kFlags) config.*flag = is_on(text_of(*setting));
}

// Reads the whole of `text` as a number.
std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t count = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, count);
  return error == std::errc() && end == last ? std::optional(count) : std::nullopt;
}

void read_report(Config& config) {
  const std::string_view text = text_of(setting_table::kReport);
  if (text.starts_with("dir:")) {
    config.report_directory = text.substr(4);
    return;
  }
  config.report_to_stderr = is_on(text);
  constexpr std::string_view kMeaningful[] = {"",     "stderr", "1",  "yes", "on",
                                              "true", "0",      "no", "off", "false"};
  for (const std::string_view known : kMeaningful) {
    if (text == known) return;
  }
  complain(config, setting_table::kReport, text);
}

void read_resident(Config& config) {
  const std::string_view text = text_of(setting_table::kResident);
  if (text.empty() || text == "auto") return;
  config.resident_bytes = text == "off" ? 0 : parse_size(text);
  if (!config.resident_bytes) complain(config, setting_table::kResident, text);
}

void read_streams(Config& config) {
  using setting_table::kStreamsMax;
  using setting_table::kStreamsMin;
  const std::string_view text = text_of(setting_table::kStreams);
  if (text.empty()) return;
  const auto streams = parse_count(text);
  const bool allowed = streams && *streams >= kStreamsMin && *streams <= kStreamsMax;
  if (!allowed) return complain(config, setting_table::kStreams, text);
  config.streams = static_cast<unsigned>(*streams);
}

void read_first_wait(Config& config) {
  const std::string_view text = text_of(setting_table::kFirstWait);
  if (text.empty()) return;
  const auto milliseconds = parse_count(text);
  if (!milliseconds || *milliseconds > setting_table::kFirstWaitMax) {
    return complain(config, setting_table::kFirstWait, text);
  }
  config.first_wait = std::chrono::milliseconds(*milliseconds);
}

// Each launcher tells a process its rank, and how many there are. A batch script of Slurm is a
// rank, too, but no step with several tasks.
std::optional<unsigned> rank_of_several() {
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : kVariables) {
    const auto number = parse_count(variable(rank));
    const auto count = parse_count(variable(size));
    if (number && count && *count > 1 && *number < *count && *count <= kMostRanks) {
      return static_cast<unsigned>(*number);
    }
  }
  return std::nullopt;
}

void read_pool_gflops(Config& config) {
  const std::string_view text = text_of(setting_table::kPoolGflops);
  if (text.empty()) return;
  const auto rate = parse_count(text);
  if (!rate || *rate > setting_table::kPoolGflopsMax) {
    return complain(config, setting_table::kPoolGflops, text);
  }
  config.pool_gflops = static_cast<double>(*rate);
}

// Reads "3", "all" or, for tests, "always:3". The library uses at most kDevicesMax devices.
void read_devices(Config& config) {
  using setting_table::kDevicesMax;
  using setting_table::kDevicesMin;
  constexpr std::string_view kAlways = "always:";
  const std::string_view text = text_of(setting_table::kDevices);
  if (text.empty()) return;
  std::string_view number = text;
  const bool always = text.starts_with(kAlways);
  if (always) number.remove_prefix(kAlways.size());
  const auto devices = number == "all" ? std::uint64_t{kDevicesMax} : parse_count(number);
  if (!devices || *devices < kDevicesMin) return complain(config, setting_table::kDevices, text);
  config.devices = std::min<std::uint64_t>(*devices, kDevicesMax);
  config.always_several = always;
}

// The default folder follows the XDG base directory specification, version 0.8.
void read_profile(Config& config) {
  const std::string_view text = text_of(setting_table::kProfile);
  if (text == "off") return;
  config.profile_folder = text;
  if (!text.empty()) return;
  constexpr std::string_view kInside = "/outboard/profiles";
  const std::string_view state = variable("XDG_STATE_HOME");
  const std::string_view home = variable("HOME");
  if (state.starts_with('/')) {
    config.profile_folder.append(state).append(kInside);
  } else if (home.starts_with('/')) {
    config.profile_folder.append(home).append("/.local/state").append(kInside);
  }
}

void read_share(Config& config) {
  const std::string_view text = text_of(setting_table::kShare);
  if (text.empty()) return;
  if (text == "auto") return config.share.reset();
  const auto part = text == "off" ? std::optional(0.0) : from_decimal(text);
  const bool allowed = part && *part >= 0 && *part < 1;
  if (!allowed) return complain(config, setting_table::kShare, text);
  config.share = part;
}

void read_verify(Config& config) {
  const std::string_view text = text_of(setting_table::kVerify);
  config.verify = text == "1";
  if (!text.empty() && text != "0" && text != "1") complain(config, setting_table::kVerify, text);
}

}  // namespace

Config read_settings() {
  Config config;
  read_choice(setting_table::kMode, kModes, config.mode, config);
  config.servers = comma_list(text_of(setting_table::kServers));
  config.lease = text_of(setting_table::kLease);
  config.lease_answer = text_of(setting_table::kLeaseAnswer);
  config.pool_url = text_of(setting_table::kPool);
  config.rank = rank_of_several();
  read_flags(config);
  config.own_kernels = variable("OPENBLAS_CORETYPE");
  read_report(config);
  check_native_plan(config);
  config.trace_path = text_of(setting_table::kTrace);
  config.routines = comma_list(text_of(setting_table::kRoutines));
  read_resident(config);
  read_devices(config);
  read_choice(setting_table::kRoute, kRoutes, config.route, config);
  read_streams(config);
  read_first_wait(config);
  read_pool_gflops(config);
  config.key_folder = text_of(setting_table::kKey);
  read_profile(config);
  read_share(config);
  read_choice(setting_table::kAccuracy, kAccuracyModes, config.accuracy, config);
  read_verify(config);
  return config;
}

}  // namespace ob::interpose
