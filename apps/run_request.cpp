#include "run_request.hpp"

#include <algorithm>
#include <cstdlib>

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

bool is_server(const std::string& address) {
  return transport::parse_address(address).ok() && !address.ends_with(":0");
}

struct Words {
  std::optional<std::string> mode;
  std::optional<std::string> servers;
  std::span<const std::string> command;  // empty if there are other options
};

// An option that is given twice has its last value.
Words split(std::span<const std::string> words) {
  Words found;
  while (!words.empty() && words.front().starts_with('-')) {
    const std::string& word = words.front();
    words = words.subspan(1);
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name != "--mode" && name != "--server") return {};
    std::optional<std::string>& value = name == "--mode" ? found.mode : found.servers;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else {
      if (words.empty()) return {};
      value = words.front();
      words = words.subspan(1);
    }
  }
  found.command = words;
  return found;
}

}  // namespace

std::optional<RunRequest> usual_run(std::span<const std::string> words) {
  if (words.empty() || words.front() != "run") return std::nullopt;
  const Words found = split(words.subspan(1));
  if (found.command.empty()) return std::nullopt;
  RunRequest request;
  request.command.assign(found.command.begin(), found.command.end());
  const std::string mode = inherited(settings::kMode);
  request.mode = found.mode.value_or(mode.empty() ? "auto" : mode);
  const auto& modes = settings::kModeChoices;
  if (std::ranges::find(modes, request.mode) == modes.end()) return std::nullopt;
  const std::string list = found.servers.value_or(inherited(settings::kServers));
  request.servers = comma_list(list);
  request.has_pool =
      !variable(settings::kPool.variable).empty() || !variable(settings::kLease.variable).empty();
  const bool is_named = found.servers.has_value() || !list.empty();
  const bool are_good = std::ranges::all_of(request.servers, is_server);
  if (!are_good || (is_named && request.servers.empty())) return std::nullopt;
  return request;
}

}  // namespace ob::apps
