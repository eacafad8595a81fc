#include "daemon/server/stream_source.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ob::daemon {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kUcx = "ucx:";
// The part of an IPv6 address that names the network (RFC 4291, 2.5.4).
constexpr std::size_t kNetworkBytes = 8;

std::string text_of(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, address, text.data(), text.size()) == nullptr ? "unknown"
                                                                           : text.data();
}

std::string network_of(const std::string& host) {
  in6_addr address{};
  const std::string number = host.substr(0, host.find('%'));  // without the scope
  if (::inet_pton(AF_INET6, number.c_str(), &address) != 1) return host;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return text_of(AF_INET, &address.s6_addr[12]);
  std::fill(std::begin(address.s6_addr) + kNetworkBytes, std::end(address.s6_addr), 0);
  return text_of(AF_INET6, &address) + "/64";
}

}  // namespace

std::string source_of(const std::string& peer) {
  std::string_view rest = peer;
  if (rest.starts_with(kUnix)) return peer;
  if (rest.starts_with(kUcx)) rest.remove_prefix(kUcx.size());
  if (rest.starts_with('[')) return network_of(std::string(rest.substr(1, rest.find(']') - 1)));
  return std::string(rest.substr(0, rest.rfind(':')));
}

}  // namespace ob::daemon
