#include "transport/shm/connect.hpp"
#include "transport/address.hpp"
#include "transport/shm/listener.hpp"
#include "transport/stream.hpp"
#include "transport/tcp/connect.hpp"
#include "transport/tcp/listener.hpp"

namespace ob::transport {

Result<std::unique_ptr<Stream>> connect(const std::string& address, Deadline deadline) {
  OB_ASSIGN_OR_RETURN(const Address parsed, parse_address(address));
  if (const auto* unix_address = std::get_if<UnixAddress>(&parsed)) {
    return shm::connect(*unix_address, deadline);
  }
  return tcp::connect(std::get<TcpAddress>(parsed), deadline);
}

Result<std::unique_ptr<Listener>> listen(const std::string& address) {
  OB_ASSIGN_OR_RETURN(const Address parsed, parse_address(address));
  if (const auto* unix_address = std::get_if<UnixAddress>(&parsed))
    return shm::listen(*unix_address);
  return tcp::listen(std::get<TcpAddress>(parsed));
}

}  // namespace ob::transport
