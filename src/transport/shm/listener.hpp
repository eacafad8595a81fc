#pragma once

#include <sys/types.h>

#include <atomic>

#include "transport/address.hpp"
#include "transport/shm/hang_up_watch.hpp"
#include "transport/shm/socket_file.hpp"
#include "transport/stream.hpp"

namespace ob::transport::shm {

/// Listens at a path; see transport::listen.
Result<std::unique_ptr<Listener>> listen(const UnixAddress& address);

/// Takes over a socket that listens already; see adopt_socket().
Result<std::unique_ptr<Listener>> adopt(int fd);

/// Refuses clients of other users without a report to the caller of accept().
class ShmListener final : public Listener {
 public:
  ShmListener(UnixAddress address, SocketFile file);
  ~ShmListener() override;

  Result<std::unique_ptr<Stream>> accept(Deadline deadline) override;
  std::string address() const override { return address_.text(); }
  void close() noexcept override;

 private:
  const UnixAddress address_;
  const SocketFile file_;
  const pid_t owner_;
  const std::shared_ptr<HangUpWatch> watch_;  // shared with the streams
  std::atomic<bool> closed_{false};
};

}  // namespace ob::transport::shm
