#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "transport/address.hpp"

namespace ob::transport::tcp {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Looks up every address of a host. Numbers need no name service; a name blocks until the service
/// answers.   Errors: unavailable if the name is unknown
Result<Addresses> resolve(const TcpAddress& address, bool for_listening);

/// Formats an address: "127.0.0.1:80", "[::1]:80".
std::string text_of(const sockaddr* address, socklen_t size_bytes);

/// Formats the address that `get` (getsockname or getpeername) returns for fd.
std::string text_of(int fd, int (*get)(int, sockaddr*, socklen_t*));

}  // namespace ob::transport::tcp
