#include "client/host_silence.hpp"

#include <variant>

#include "transport/address.hpp"

namespace ob::client {

std::string host_of(const std::string& address) {
  const auto parsed = transport::parse_address(address);
  if (!parsed.ok()) return address;
  if (const auto* tcp = std::get_if<transport::TcpAddress>(&*parsed)) return tcp->host;
  if (const auto* ucx = std::get_if<transport::UcxAddress>(&*parsed)) return ucx->control.host;
  return address;
}

}  // namespace ob::client
