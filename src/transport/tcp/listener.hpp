#pragma once

#include <sys/types.h>

#include <atomic>

#include "base/fd.hpp"
#include "transport/address.hpp"
#include "transport/stream.hpp"

namespace ob::transport::tcp {

/// Listens on the first address of the host that can be bound; see transport::listen.
Result<std::unique_ptr<Listener>> listen(const TcpAddress& address);

/// The same for a protocol of others: the socket does not block.
/// @param prepare sets options that accepted sockets inherit; nullptr: none
Result<Fd> listen_socket(const TcpAddress& address, void (*prepare)(int fd) noexcept = nullptr);

class TcpListener final : public Listener {
 public:
  explicit TcpListener(Fd fd);
  ~TcpListener() override;

  Result<std::unique_ptr<Stream>> accept(Deadline deadline) override;
  std::string address() const override { return address_; }
  void close() noexcept override;

 private:
  const Fd fd_;
  const std::string address_;
  const pid_t owner_;
  std::atomic<bool> closed_{false};
};

}  // namespace ob::transport::tcp
