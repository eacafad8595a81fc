#include "transport/shm/connect.hpp"
#include "transport/address.hpp"
#include "transport/shm/listener.hpp"
#include "transport/stream.hpp"
#include "transport/tcp/connect.hpp"
#include "transport/tcp/listener.hpp"
#include "transport/ucx/open.hpp"

namespace ob::transport {

Result<std::unique_ptr<Stream>> connect(const std::string& address, Deadline deadline) {
  OB_ASSIGN_OR_RETURN(const Address parsed, parse_address(address));
  if (const auto* unix_address = std::get_if<UnixAddress>(&parsed)) {
    return shm::connect(*unix_address, deadline);
  }
  if (const auto* ucx_address = std::get_if<UcxAddress>(&parsed)) {
    auto control = tcp::connect(ucx_address->control, deadline);
    if (!control.ok()) return control.status().in(ucx_address->text());
    return ucx::connect(std::move(*control), deadline);
  }
  return tcp::connect(std::get<TcpAddress>(parsed), deadline);
}

Result<std::unique_ptr<Listener>> listen(const std::string& address) {
  OB_ASSIGN_OR_RETURN(const Address parsed, parse_address(address));
  if (const auto* unix_address = std::get_if<UnixAddress>(&parsed))
    return shm::listen(*unix_address);
  if (const auto* ucx_address = std::get_if<UcxAddress>(&parsed)) {
    auto control = tcp::listen(ucx_address->control);
    if (!control.ok()) return control.status().in(ucx_address->text());
    return ucx::listen(std::move(*control));
  }
  return tcp::listen(std::get<TcpAddress>(parsed));
}

}  // namespace ob::transport
