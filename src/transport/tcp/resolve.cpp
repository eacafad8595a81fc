#include "transport/tcp/resolve.hpp"

namespace ob::transport::tcp {

Result<Addresses> resolve(const TcpAddress& address, bool for_listening) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | (for_listening ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &list);
  if (error == EAI_NONAME) {
    hints.ai_flags &= ~AI_NUMERICHOST;
    error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &list);
  }
  if (error != 0) {
    return Status(Code::unavailable, "cannot find host \"" + address.host + "\" (" +
                                         ::gai_strerror(error) +
                                         "); check the spelling, or write its number");
  }
  return Addresses(list);
}

std::string text_of(const sockaddr* address, socklen_t size_bytes) {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  const int error = ::getnameinfo(address, size_bytes, host, sizeof host, port, sizeof port,
                                  NI_NUMERICHOST | NI_NUMERICSERV);
  return error != 0 ? "unknown" : TcpAddress{host, port}.text();
}

std::string text_of(int fd, int (*get)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage = {};
  socklen_t size_bytes = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  return get(fd, address, &size_bytes) != 0 ? "unknown" : text_of(address, size_bytes);
}

}  // namespace ob::transport::tcp
