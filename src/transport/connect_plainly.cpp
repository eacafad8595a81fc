#include "transport/address.hpp"
#include "transport/stream.hpp"
#include "transport/tcp/connect.hpp"

namespace ob::transport {

Result<std::unique_ptr<Stream>> connect_plainly(const std::string& address, Deadline deadline) {
  OB_ASSIGN_OR_RETURN(const Address parsed, parse_address(address));
  if (const auto* local = std::get_if<UnixAddress>(&parsed)) return tcp::connect(*local, deadline);
  if (const auto* tcp = std::get_if<TcpAddress>(&parsed)) return tcp::connect(*tcp, deadline);
  return Status(Code::invalid_argument, address + " is for daemons only; write HOST:PORT");
}

}  // namespace ob::transport
