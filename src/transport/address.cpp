#include "transport/address.hpp"

#include <sys/un.h>

#include <algorithm>

namespace ob::transport {
namespace {

constexpr const char* kUnixPrefix = "unix:";
constexpr std::size_t kUnixPrefixBytes = 5;

Status malformed(const std::string& text, const std::string& why) {
  return {Code::invalid_argument, "malformed address \"" + text + "\" (" + why +
                                      ") write HOST:PORT, [IPV6]:PORT or unix:PATH"};
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

Result<Address> checked(const std::string& text, const std::string& host, const std::string& port) {
  if (host.empty()) return malformed(text, "the host is empty");
  if (host.find('\0') != std::string::npos) return malformed(text, "the host holds a NUL byte");
  if (port.empty()) return malformed(text, "the port is missing");
  if (!valid_port(port)) return malformed(text, "the port is not a number from 0 to 65535");
  return Address(TcpAddress{host, port});
}

Result<Address> parse_bracketed(const std::string& text) {
  const std::size_t close = text.find(']');
  if (close == std::string::npos) return malformed(text, "the bracket is not closed");
  const std::string rest = text.substr(close + 1);
  if (rest.empty()) return malformed(text, "the port is missing");
  if (rest[0] != ':') return malformed(text, "there is something between ] and the port");
  return checked(text, text.substr(1, close - 1), rest.substr(1));
}

}  // namespace

std::string TcpAddress::text() const {
  const bool bracket = host.find(':') != std::string::npos;
  return (bracket ? "[" + host + "]" : host) + ":" + port;
}

Result<Address> parse_address(const std::string& text) {
  if (text.empty()) return malformed(text, "it is empty");
  if (text.compare(0, kUnixPrefixBytes, kUnixPrefix) == 0) return parse_unix(text);
  if (text[0] == '[') return parse_bracketed(text);
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return malformed(text, "the port is missing");
  if (text.find(':', colon + 1) != std::string::npos) {
    return malformed(text, "more than one colon; an IPv6 address goes in brackets");
  }
  return checked(text, text.substr(0, colon), text.substr(colon + 1));
}

}  // namespace ob::transport
