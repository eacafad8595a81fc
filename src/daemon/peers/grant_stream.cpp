#include "daemon/peers/grant_stream.hpp"

#include <chrono>
#include <utility>

#include "daemon/memory/staged_reader.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;
using wire::Opcode;

// As for a client (docs/wire.md, section 8). The other daemon shows life every 0.3 s.
constexpr std::chrono::milliseconds kLongestSilence{4500};
constexpr std::chrono::milliseconds kLook{250};

}  // namespace

GrantStream::GrantStream(std::unique_ptr<transport::Stream> stream)
    : stream_(std::move(stream)), receiver_(*stream_), sender_(*stream_, *this) {
  stream_->discard_unsent_at_end();  // the rest of a store that has failed must not arrive
}

bool GrantStream::alive() {
  heard_ = Clock::now();
  return receive().ok() && !stream_->peer_is_gone();
}

// Takes the messages that have arrived.
Status GrantStream::receive() {
  while (receiver_.payload_left() == 0) {
    OB_ASSIGN_OR_RETURN(const auto message, receiver_.poll());
    if (!message) return {};
    heard_ = Clock::now();
    const wire::Header& header = message->header;
    if (header.opcode == Opcode::pong) continue;  // a sign of life
    if (header.opcode == Opcode::failed) {
      return {Code::connection_lost, "the other daemon has given the stream up"};
    }
    const bool answers = header.opcode == Opcode::stored || header.opcode == Opcode::fetched;
    if (!answers || header.sequence != sequence_ || answer_) {
      return {Code::protocol_error, "the other daemon answers what was not asked"};
    }
    OB_ASSIGN_OR_RETURN(answer_, wire::decode<wire::Outcome>(message->body));
    answer_opcode_ = header.opcode;
    answer_bytes_ = header.payload_bytes;
  }
  return {};
}

Status GrantStream::wait(bool want_send) {
  if (Clock::now() - heard_ > kLongestSilence) {
    return {Code::connection_lost, "the other daemon is silent"};
  }
  const Status status = stream_->wait(true, want_send, Clock::now() + kLook);
  return status.code() == Code::deadline_exceeded ? Status() : status;
}

Status GrantStream::wait_to_send() {
  OB_RETURN_IF_ERROR(receive());
  return wait(true);
}

Result<wire::Outcome> GrantStream::await_answer(Opcode opcode) {
  for (;;) {
    OB_RETURN_IF_ERROR(receive());
    if (answer_) break;
    OB_RETURN_IF_ERROR(wait(false));
  }
  if (answer_opcode_ == opcode) return *std::exchange(answer_, std::nullopt);
  return Status(Code::protocol_error, "the other daemon answers with another message");
}

Status GrantStream::send_header(Opcode opcode, const wire::GrantRange& range,
                                std::uint64_t payload_bytes) {
  wire::Body body;
  wire::encode(range, body);
  wire::Header header;
  header.opcode = opcode;
  header.sequence = ++sequence_;
  header.payload_bytes = payload_bytes;
  heard_ = Clock::now();
  broken_ = true;
  answer_.reset();
  return sender_.send(header, body.bytes());
}

Status GrantStream::send_store(SendResources& resources,
                               const std::shared_ptr<DeviceBuffer>& buffer, const Region& region,
                               const wire::GrantRange& range) {
  if (std::byte* const memory = resources.device.host_view(buffer->local)) {
    OB_RETURN_IF_ERROR(send_header(Opcode::store, range, range.size_bytes));
    OB_RETURN_IF_ERROR(sender_.append_payload(Layout::matrix(memory, region)));
    return sender_.flush();
  }
  OB_RETURN_IF_ERROR(resources.open_transfers());
  StagedReader reader(resources.device, resources.transfers, buffer, region);
  const auto begin = [&](const Status& had) {
    return had.ok() ? send_header(Opcode::store, range, range.size_bytes) : had;
  };
  OB_RETURN_IF_ERROR(
      reader.run(begin, [&](const Layout& part) { return sender_.append_payload(part); }));
  return sender_.flush();
}

Status GrantStream::store(SendResources& resources, const std::shared_ptr<DeviceBuffer>& buffer,
                          const Region& region, const wire::GrantRange& range) {
  OB_RETURN_IF_ERROR(send_store(resources, buffer, region, range));
  OB_ASSIGN_OR_RETURN(const wire::Outcome outcome, await_answer(Opcode::stored));
  broken_ = false;
  return {outcome.code, outcome.message};
}

Status GrantStream::receive_payload(const Layout& room) {
  Layout::Cursor cursor(room);
  for (;;) {
    const std::uint64_t before = receiver_.payload_left();
    OB_ASSIGN_OR_RETURN(const bool complete, receiver_.poll_payload(cursor));
    if (receiver_.payload_left() != before) heard_ = Clock::now();
    if (complete) return {};
    OB_RETURN_IF_ERROR(wait(false));
  }
}

Status GrantStream::fetch(RegionLanding& landing, const DeviceBuffer& buffer, const Region& region,
                          const wire::GrantRange& range) {
  OB_RETURN_IF_ERROR(send_header(Opcode::fetch, range, 0));
  OB_RETURN_IF_ERROR(sender_.flush());
  OB_ASSIGN_OR_RETURN(const wire::Outcome outcome, await_answer(Opcode::fetched));
  const bool complete = answer_bytes_ == (outcome.code == Code::ok ? range.size_bytes : 0);
  if (!complete) return {Code::protocol_error, "the other daemon sends another number of bytes"};
  broken_ = outcome.code == Code::ok;
  if (!broken_) return {outcome.code, outcome.message};
  const Status landed =
      landing.land(buffer, region, [&](const Layout& room) { return receive_payload(room); });
  broken_ = receiver_.payload_left() != 0;
  return landed;
}

}  // namespace ob::daemon
