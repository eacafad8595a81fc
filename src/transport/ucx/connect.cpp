#include "transport/ucx/open.hpp"
#include "transport/ucx/stream.hpp"

namespace ob::transport::ucx {

Result<std::unique_ptr<Stream>> connect(std::unique_ptr<Stream> control, Deadline deadline) {
  const std::string peer = control->peer();
  auto stream = UcxStream::create(std::move(control));
  const Status status = stream.ok() ? (*stream)->await_hello(deadline) : stream.status();
  if (status.ok()) return std::unique_ptr<Stream>(std::move(*stream));
  const bool nobody =
      status.code() == Code::deadline_exceeded || status.code() == Code::connection_lost;
  if (!nobody) return status;
  return Status(Code::unavailable,
                "cannot connect to ucx:" + peer + " (" + status.message() +
                    "); check that the daemon listens on this address with ucx:");
}

}  // namespace ob::transport::ucx
