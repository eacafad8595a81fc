#include "daemon/server/connection.hpp"

#include <exception>
#include <utility>

#include "daemon/io/log.hpp"

namespace ob::daemon {

Connection::Connection(std::unique_ptr<transport::Stream> stream,
                       const ConnectionServices& services)
    : services_(services),
      channel_(std::make_shared<Channel>(std::move(stream), services.longest_idle)) {}

Connection::~Connection() = default;

Status Connection::run() {
  struct Closer {
    Connection& connection;
    ~Closer() {
      try {
        connection.close();
      } catch (const std::exception& error) {  // most likely out of memory
        log::warn("cannot close a connection: " + std::string(error.what()));
      }
    }
  };
  const Closer closer{*this};
  channel_->replies().adopt_io_thread();
  Handshake handshake(channel_, services_);
  Status status = serve(handshake);
  gone_ = true;
  if (!status.ok() && status.code() != Code::connection_lost && handshake.may_report_failure()) {
    channel_->report_failure(status);
  }
  return status;
}

Status Connection::serve(Handshake& handshake) {
  auto accepted = handshake.accept();
  name_ = handshake.name();
  OB_RETURN_IF_ERROR(accepted.status());
  if (*accepted == nullptr) return {};  // the stream belongs to another connection now
  served_ = std::move(*accepted);
  known_ = served_.get();
  session_name_ = served_->session();
  OB_RETURN_IF_ERROR(handshake.answer());
  return served_->serve();
}

bool Connection::idle() const {
  const ServedConnection* const served = known_;
  return channel_->idle() && (served == nullptr || served->idle());
}

// The stream is shut down first, so that later answers are not sent.
void Connection::close() {
  gone_ = true;
  channel_->shut_down();
  if (served_ != nullptr) served_->close();
  session_name_ = nullptr;
}

}  // namespace ob::daemon
