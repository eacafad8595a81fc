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

/// Looks up every address of a host. Numbers need no name service; a name blocks for as long as
/// that takes. Errors: unavailable if the name is unknown
Result<Addresses> resolve(const TcpAddress& address, bool for_listening);

/// "127.0.0.1:80", "[::1]:80"
std::string text_of(const sockaddr* address, socklen_t size_bytes);

/// Text of the address that get (getsockname, getpeername) gives for fd.
std::string text_of(int fd, int (*get)(int, sockaddr*, socklen_t*));

}  // namespace ob::transport::tcp
