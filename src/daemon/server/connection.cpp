#include "daemon/server/connection.hpp"

#include <exception>
#include <utility>

#include "daemon/io/log.hpp"
#include "daemon/server/stream_source.hpp"

namespace ob::daemon {
Connection::Connection(std::unique_ptr<transport::Stream> stream,
                       const ConnectionServices& services)
    : services_(services),
      channel_(std::make_shared<Channel>(std::move(stream), services.longest_idle)),
      source_(source_of(channel_->stream().peer())),
      place_(services.handshakes.enter({source_, [this] { shut_down(); }})) {}

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
  Status status = reason(serve(handshake));
  // Many programs end without goodbye. Nothing is lost if all that they sent is answered.
  if (is_member_ && status.code() == Code::connection_lost && channel_->was_closed_idle()) {
    status = {};
  }
  note_gone();
  if (!status.ok() && status.code() != Code::connection_lost && handshake.may_report_failure()) {
    channel_->report_failure(status);
  }
  return status;
}

Status Connection::serve(Handshake& handshake) {
  auto accepted = handshake.accept();
  name_ = handshake.name();
  OB_RETURN_IF_ERROR(accepted.status());
  is_member_ = true;
  seat_ = handshake.take_seat();
  place_.reset();
  if (*accepted == nullptr) return {};  // the stream belongs to another connection now
  served_ = std::move(*accepted);
  known_ = served_.get();
  session_name_ = served_->session();
  OB_RETURN_IF_ERROR(handshake.answer());
  return served_->serve();
}

// Tells a handshake that was closed for another one from a client that is gone.
Status Connection::reason(Status status) const {
  if (status.ok() || place_ == nullptr || !place_->closed()) return status;
  return {Code::unavailable, "its handshake was closed for a newer one (too many are under way)"};
}

void Connection::note_gone() noexcept {
  auto never = transport::Clock::time_point::max();
  gone_since_.compare_exchange_strong(never, transport::Clock::now());
}

bool Connection::left_after(transport::Clock::time_point time) const noexcept {
  return gone() ? gone_since_.load() >= time : !channel_->check_peer().ok();
}

bool Connection::idle() const {
  const ServedConnection* const served = known_;
  return channel_->idle() && (served == nullptr || served->idle());
}

// The stream is shut down first, so that later answers are not sent.
void Connection::close() {
  note_gone();
  channel_->shut_down();
  if (served_ != nullptr) served_->close();
  session_name_ = nullptr;
  place_.reset();
  seat_ = {};
}

}  // namespace ob::daemon
