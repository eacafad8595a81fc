#include "transport/address.hpp"

#include <sys/un.h>

#include <algorithm>
#include <charconv>

namespace ob::transport {
namespace {

constexpr const char* kUnixPrefix = "unix:";
constexpr std::size_t kUnixPrefixBytes = 5;
constexpr const char* kUcxPrefix = "ucx:";
constexpr std::size_t kUcxPrefixBytes = 4;
constexpr const char* kInheritedPrefix = "fd:";
constexpr std::size_t kInheritedPrefixBytes = 3;

Status malformed(const std::string& text, const std::string& why) {
  return {Code::invalid_argument, "malformed address \"" + text + "\" (" + why +
                                      "); write HOST:PORT, [IPV6]:PORT, unix:PATH or "
                                      "ucx:HOST:PORT"};
}

bool valid_port(const std::string& port) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), digit))
    return false;
  unsigned number = 0;
  for (const char c : port) number = number * 10 + static_cast<unsigned>(c - '0');
  return number <= 65535;
}

Result<Address> parse_unix(const std::string& text) {
  const std::string path = text.substr(kUnixPrefixBytes);
  if (path.empty()) return malformed(text, "the path is empty");
  if (path.find('\0') != std::string::npos) return malformed(text, "the path holds a NUL byte");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return malformed(text, "the path has " + std::to_string(path.size()) +
                               " bytes, a socket's has at most " +
                               std::to_string(sizeof(sockaddr_un::sun_path) - 1));
  }
  return Address(UnixAddress{path});
}

Result<TcpAddress> checked(const std::string& text, const std::string& host,
                           const std::string& port) {
  if (host.empty()) return malformed(text, "the host is empty");
  if (host.find('\0') != std::string::npos) return malformed(text, "the host holds a NUL byte");
  if (port.empty()) return malformed(text, "the port is missing");
  if (!valid_port(port)) return malformed(text, "the port is not a number from 0 to 65535");
  return TcpAddress{host, port};
}

/// @param text the whole address, for messages   @param place the part behind a prefix
Result<TcpAddress> parse_bracketed(const std::string& text, const std::string& place) {
  const std::size_t close = place.find(']');
  if (close == std::string::npos) return malformed(text, "the bracket is not closed");
  const std::string rest = place.substr(close + 1);
  if (rest.empty()) return malformed(text, "the port is missing");
  if (rest[0] != ':') return malformed(text, "there is something between ] and the port");
  return checked(text, place.substr(1, close - 1), rest.substr(1));
}

Result<TcpAddress> parse_tcp(const std::string& text, const std::string& place) {
  if (place.empty()) return malformed(text, "the host is empty");
  if (place[0] == '[') return parse_bracketed(text, place);
  const std::size_t colon = place.find(':');
  if (colon == std::string::npos) return malformed(text, "the port is missing");
  if (place.find(':', colon + 1) != std::string::npos) {
    if (place.starts_with("tcp:")) return malformed(text, "TCP has no prefix");
    return malformed(text, "more than one colon; an IPv6 address goes in brackets");
  }
  return checked(text, place.substr(0, colon), place.substr(colon + 1));
}

}  // namespace

std::string TcpAddress::text() const {
  const bool bracket = host.find(':') != std::string::npos;
  return (bracket ? "[" + host + "]" : host) + ":" + port;
}

Result<Address> parse_address(const std::string& text) {
  if (text.empty()) return malformed(text, "it is empty");
  if (text.compare(0, kUnixPrefixBytes, kUnixPrefix) == 0) return parse_unix(text);
  if (text.compare(0, kUcxPrefixBytes, kUcxPrefix) == 0) {
    OB_ASSIGN_OR_RETURN(TcpAddress control, parse_tcp(text, text.substr(kUcxPrefixBytes)));
    return Address(UcxAddress{std::move(control)});
  }
  OB_ASSIGN_OR_RETURN(TcpAddress address, parse_tcp(text, text));
  return Address(std::move(address));
}

Result<std::optional<int>> inherited_socket(const std::string& text) {
  if (!text.starts_with(kInheritedPrefix)) return std::optional<int>();
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + kInheritedPrefixBytes, end, number);
  if (error == std::errc() && stop == end && number > 2) return std::optional<int>(number);
  return malformed(text, "after fd: stands the number of an open descriptor, from 3 up");
}

bool stays_on_this_machine(const std::string& text) {
  if (text.starts_with(kInheritedPrefix)) return true;  // always a Unix socket
  const auto address = parse_address(text);
  if (!address.ok()) return false;
  if (std::holds_alternative<UnixAddress>(*address)) return true;
  const auto* ucx =
      std::get_if<UcxAddress>(&*address);  // UCX's own ports are local exactly if the control's are
  const std::string& host =
      ucx != nullptr ? ucx->control.host : std::get<TcpAddress>(*address).host;
  const bool loopback =
      host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string::npos;
  return loopback || host == "localhost" || host == "::1";
}

}  // namespace ob::transport
