#include "run_request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

#include "base/comma_list.hpp"
#include "interpose/setting_table.hpp"
#include "transport/address.hpp"

namespace ob::apps {
namespace {

using interpose::setting_table::Setting;
namespace settings = interpose::setting_table;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string inherited(const Setting& setting) {
  std::string text = variable(setting.variable);
  return text.empty() ? variable(setting.older_variable) : text;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_server(const std::string& address) {
  return transport::parse_address(address).ok() && !address.ends_with(":0");
}

// The values of the options, by their names. An option that is given twice has its last value.
struct Words {
  std::map<std::string, std::string> options;
  std::span<const std::string> command;  // empty if there are other options

  const std::string* option(const char* name) const {
    const auto found = options.find(name);
    return found == options.end() ? nullptr : &found->second;
  }
  bool has(const char* name) const { return option(name) != nullptr; }
};

constexpr std::string_view kWithValue[] = {"--mode",         "--server", "--key",  "--pool",
                                           "--accelerators", "--shared", "--kind", "--wait"};
constexpr std::string_view kFlags[] = {"--exclusive", "--require"};

template <std::size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

Words split(std::span<const std::string> words) {
  Words found;
  while (!words.empty() && words.front().starts_with('-')) {
    const std::string& word = words.front();
    words = words.subspan(1);
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool has_value = equals != std::string::npos;
    if (is_one_of(kFlags, name) && !has_value) {
      found.options[name];
      continue;
    }
    if (!is_one_of(kWithValue, name)) return {};
    if (has_value) {
      found.options[name] = word.substr(equals + 1);
    } else {
      if (words.empty()) return {};
      found.options[name] = words.front();
      words = words.subspan(1);
    }
  }
  found.command = words;
  return found;
}

// A number that is no more than the digits say: 1 to 9999.
std::size_t count_of(const std::string& text) {
  if (text.empty() || text.size() > 4 || !std::ranges::all_of(text, is_digit)) return 0;
  return std::stoul(text);
}

// "10m", "1.5h", "30"
bool is_time(std::string_view text) {
  const std::string_view units[] = {"ms", "s", "m", "h", "d"};
  const auto unit = std::ranges::find_if(units, [&](auto one) { return text.ends_with(one); });
  if (unit != std::end(units)) text.remove_suffix(unit->size());
  const std::size_t point = text.find('.');
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() && std::ranges::all_of(digits, is_digit);
  };
  return is_number(text.substr(0, point)) &&
         (point == std::string_view::npos || is_number(text.substr(point + 1)));
}

// A part of a device, 0.001 to 1, per mille; 0 for other texts.
unsigned per_mille(const std::string& text) {
  double part = 0;
  const char* const end = text.data() + text.size();
  const auto found = std::from_chars(text.data(), end, part, std::chars_format::fixed);
  if (found.ec != std::errc() || found.ptr != end || !(part >= 0.001 && part <= 1)) return 0;
  return static_cast<unsigned>(std::lround(part * 1000));
}

bool is_kind(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) {
    return is_digit(letter) || (letter >= 'a' && letter <= 'z') || letter == '-' || letter == '_';
  });
}

// Reads which accelerators of a pool are wanted. Returns nothing if the whole command line must.
std::optional<pool::LeaseWish> wish_of(const Words& found) {
  pool::LeaseWish wish;
  wish.devices = count_of(*found.option("--accelerators"));
  if (wish.devices == 0) return std::nullopt;
  if (const std::string* const kind = found.option("--kind")) {
    if (!is_kind(*kind)) return std::nullopt;
    wish.kind = *kind;
  }
  if (const std::string* const part = found.option("--shared")) {
    const unsigned share = per_mille(*part);
    if (share == 0) return std::nullopt;
    wish.exclusive = found.has("--exclusive");
    if (!wish.exclusive) wish.share = share;
  }
  return wish;
}

// Reads the options of a pool. Returns false if the whole command line must.
bool read_pool(const Words& found, RunRequest& request) {
  const std::string* const url = found.option("--pool");
  request.pool = url != nullptr && !url->empty() ? *url : variable(settings::kPool.variable);
  const std::string* const wait = found.option("--wait");
  if (!found.has("--accelerators")) {
    constexpr const char* kWithThem[] = {"--exclusive", "--shared", "--kind", "--wait",
                                         "--require"};
    return std::ranges::none_of(kWithThem, [&](const char* name) { return found.has(name); });
  }
  request.accelerators = wish_of(found);
  if (!request.accelerators || request.pool.empty()) return false;
  if (wait != nullptr && !is_time(*wait)) return false;
  request.begins_with_them = wait != nullptr || found.has("--require");
  request.servers.clear();  // which go before a lease
  return !found.has("--server");
}

}  // namespace

std::optional<RunRequest> usual_run(std::span<const std::string> words) {
  if (words.empty() || words.front() != "run") return std::nullopt;
  const Words found = split(words.subspan(1));
  if (found.command.empty()) return std::nullopt;
  RunRequest request;
  request.command.assign(found.command.begin(), found.command.end());
  const std::string mode = inherited(settings::kMode);
  const std::string* const chosen = found.option("--mode");
  request.mode = chosen != nullptr ? *chosen : mode.empty() ? "auto" : mode;
  const auto& modes = settings::kModeChoices;
  if (std::ranges::find(modes, request.mode) == modes.end()) return std::nullopt;
  const std::string* const servers = found.option("--server");
  const std::string list = servers != nullptr ? *servers : inherited(settings::kServers);
  request.servers = comma_list(list);
  const bool is_named = servers != nullptr || !list.empty();
  const bool are_good = std::ranges::all_of(request.servers, is_server);
  if (!are_good || (is_named && request.servers.empty())) return std::nullopt;
  request.key = variable(settings::kKey.variable);
  if (const std::string* const key = found.option("--key")) {
    std::error_code problem;
    request.key = std::filesystem::canonical(*key, problem);
    if (problem || !std::filesystem::is_directory(request.key)) return std::nullopt;
  }
  request.has_lease = !variable(settings::kLease.variable).empty();
  if (!read_pool(found, request)) return std::nullopt;
  return request;
}

}  // namespace ob::apps
