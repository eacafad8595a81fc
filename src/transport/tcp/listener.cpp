#include "transport/tcp/listener.hpp"

#include <unistd.h>

#include <cerrno>

#include "transport/detail/accept.hpp"
#include "transport/detail/system_error.hpp"
#include "transport/tcp/options.hpp"
#include "transport/tcp/resolve.hpp"
#include "transport/tcp/stream.hpp"

namespace ob::transport::tcp {
namespace {

int bind_one(const addrinfo& address, void (*prepare)(int fd) noexcept, Fd& out) {
  Fd fd(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  if (!fd) return errno;
  const int on = 1;  // lets a restarted daemon bind its port at once
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (prepare != nullptr) prepare(fd.get());
  if (::bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0) return errno;
  if (::listen(fd.get(), SOMAXCONN) != 0) return errno;
  out = std::move(fd);
  return 0;
}

}  // namespace

Result<std::unique_ptr<Listener>> listen(const TcpAddress& address) {
  OB_ASSIGN_OR_RETURN(Fd fd, listen_socket(address, &set_options));
  return std::unique_ptr<Listener>(new TcpListener(std::move(fd)));
}

Result<Fd> listen_socket(const TcpAddress& address, void (*prepare)(int fd) noexcept) {
  OB_ASSIGN_OR_RETURN(const Addresses list, resolve(address, true));
  int error = 0;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Fd fd;
    error = bind_one(*at, prepare, fd);
    if (error == 0) return fd;
  }
  const std::string problem = "cannot listen on " + address.text();
  if (error == EACCES || error == EPERM) {
    return Status(Code::denied,
                  problem + " (" + detail::system_text(error) + ") choose a port from 1024 up");
  }
  return Status(Code::unavailable, problem + " (" + detail::system_text(error) +
                                       ") choose another address, or port 0 for any");
}

TcpListener::TcpListener(Fd fd)
    : fd_(std::move(fd)), address_(text_of(fd_.get(), ::getsockname)), owner_(::getpid()) {}

TcpListener::~TcpListener() {
  if (::getpid() == owner_) close();
}

Result<std::unique_ptr<Stream>> TcpListener::accept(Deadline deadline) {
  Fd fd;
  OB_RETURN_IF_ERROR(detail::accept(fd_.get(), closed_, deadline, fd).in(address_));
  set_options(fd.get());
  std::string peer = text_of(fd.get(), ::getpeername);
  return std::unique_ptr<Stream>(
      new TcpStream(std::move(fd), kLongestSilenceOfCaller, std::move(peer)));
}

void TcpListener::close() noexcept {
  closed_.store(true);
  (void)::shutdown(fd_.get(), SHUT_RDWR);  // stops listening and wakes accept()
}

}  // namespace ob::transport::tcp
