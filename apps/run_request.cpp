#include "run_request.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "transport/address.hpp"

namespace ob::apps {
namespace {

// A test compares these with settings/settings.toml.
constexpr std::string_view kModes[] = {"auto", "remote", "trace", "off"};
constexpr const char* kModeVariable = "OUTBOARD_MODE";
constexpr const char* kServerVariables[] = {"OUTBOARD_SERVER", "RCPU_SERVER"};

std::string value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::string stripped(const std::string& text) {
  constexpr const char* kBlanks = " \t\n\r\f\v";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Returns the addresses of a comma-separated list; nothing if one is wrong or there is none.
std::optional<std::vector<std::string>> servers_of(const std::string& list) {
  std::vector<std::string> servers;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string server = stripped(list.substr(begin, end - begin));
    begin = end + 1;
    if (server.empty()) continue;
    if (!transport::parse_address(server).ok() || server.ends_with(":0")) return std::nullopt;
    servers.push_back(std::move(server));
  }
  if (servers.empty()) return std::nullopt;
  return servers;
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
  request.mode = found.mode.value_or(value_of(kModeVariable));
  if (request.mode.empty() && !found.mode) request.mode = "auto";
  if (std::ranges::find(kModes, request.mode) == std::end(kModes)) return std::nullopt;
  std::optional<std::string> list = found.servers;
  for (const char* variable : kServerVariables) {
    if (!list && !value_of(variable).empty()) list = value_of(variable);
  }
  if (list) {
    const auto servers = servers_of(*list);
    if (!servers) return std::nullopt;
    request.servers = *servers;
  }
  return request;
}

}  // namespace ob::apps
