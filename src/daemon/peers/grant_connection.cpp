#include "daemon/peers/grant_connection.hpp"

#include <exception>
#include <utility>

#include "daemon/memory/region_landing.hpp"
#include "daemon/memory/staged_reader.hpp"
#include "daemon/peers/peer_transport.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using wire::Opcode;

wire::Outcome outcome_of(const Status& status) {
  wire::Outcome outcome;
  outcome.code = status.code();
  outcome.message = status.message();
  return outcome;
}

}  // namespace

GrantConnection::GrantConnection(std::shared_ptr<Channel> channel, Grants& grants, LifeSigns& signs,
                                 std::string user, bool same_order)
    : channel_(std::move(channel)),
      grants_(grants),
      signs_(signs),
      user_(std::move(user)),
      same_order_(same_order) {}

Status GrantConnection::serve() {
  const LifeSigns::Registration shown(signs_, *channel_);
  for (;;) {
    OB_ASSIGN_OR_RETURN(const auto message, channel_->next_message());
    switch (message.header.opcode) {
      case Opcode::goodbye: return {};
      case Opcode::store: OB_RETURN_IF_ERROR(store(message)); break;
      case Opcode::fetch: OB_RETURN_IF_ERROR(fetch(message)); break;
      default: return {Code::protocol_error, "a daemon uses grants by store and fetch only"};
    }
    OB_RETURN_IF_ERROR(channel_->replies().flush());
  }
}

Result<std::unique_ptr<Grant::Use>> GrantConnection::begin(std::uint32_t may,
                                                           const wire::GrantRange& range) {
  if (!same_order_) {
    return Status(Code::unsupported,
                  "the daemons store numbers in different byte orders, and a grant has bytes only");
  }
  const auto grant = grants_.find(range.secret);
  if (grant == nullptr) {
    return Status(Code::denied, "no such grant (revoked, or its buffer was freed)");
  }
  return Grant::begin(grant, may, range, user_, [raw = channel_.get()] { raw->shut_down(); });
}

// A failure before all bytes have come answers behind them, so that the stream goes on.
Status GrantConnection::store(const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto range, wire::decode<wire::GrantRange>(message.body));
  if (range.size_bytes != message.header.payload_bytes) {
    return {Code::protocol_error, "a store is not as long as its range"};
  }
  const std::uint64_t sequence = message.header.sequence;
  auto use = begin(wire::kMayWrite, range);
  Status status = use.status();
  if (use.ok()) {
    try {
      status = take(**use);
    } catch (const std::exception& error) {
      status = Status(Code::out_of_memory, error.what());
    }
    use->reset();
  }
  if (channel_->receiver().payload_left() != 0) OB_RETURN_IF_ERROR(channel_->discard_payload());
  return channel_->replies().reply(Opcode::stored, {}, sequence, outcome_of(status));
}

// A sender that has left has given the put up. This process may find its bytes late, for example if
// it was stopped; then others may have written to the range meanwhile.
Status GrantConnection::take(Grant::Use& use) {
  OB_RETURN_IF_ERROR(use.settle([&] { return channel_->check_peer(); }));
  const auto wanted = [&]() -> Status {
    OB_RETURN_IF_ERROR(use.check());
    return channel_->check_peer();
  };
  RegionLanding landing(use.device(), use.host_memory());
  OB_RETURN_IF_ERROR(landing.land(*use.buffer(), use.region(), [&](const Layout& room) {
    return channel_->receive_payload(room, 1, wanted);
  }));
  OB_RETURN_IF_ERROR(wanted());
  return use.land();
}

Status GrantConnection::fetch(const session::Message& message) {
  OB_ASSIGN_OR_RETURN(const auto range, wire::decode<wire::GrantRange>(message.body));
  const std::uint64_t sequence = message.header.sequence;
  auto use = begin(wire::kMayRead, range);
  bool begun = false;
  Status status = use.ok() ? give(**use, sequence, begun) : use.status();
  if (begun) return status;  // a failure in the middle of the data ends the stream
  return channel_->replies().reply(Opcode::fetched, {}, sequence, outcome_of(status));
}

Status GrantConnection::give(const Grant::Use& use, std::uint64_t sequence, bool& begun) {
  OB_RETURN_IF_ERROR(use.settle([&] { return channel_->check_peer(); }));
  Device& device = use.device();
  if (std::byte* const memory = device.host_view(use.buffer()->local)) {
    begun = true;
    return channel_->replies().reply(Opcode::fetched, {}, sequence, wire::Outcome{},
                                     Layout::matrix(memory, use.region()));
  }
  SendResources resources{device, use.host_memory()};
  OB_RETURN_IF_ERROR(resources.open_transfers());
  StagedReader reader(device, resources.transfers, use.buffer(), use.region());
  const Status status = channel_->replies().send_in_parts([&](session::MessageSender& sender) {
    const auto first = [&](const Status& had) -> Status {
      OB_RETURN_IF_ERROR(had);
      begun = true;
      wire::Body body;
      wire::encode(wire::Outcome{}, body);
      wire::Header header;
      header.opcode = Opcode::fetched;
      header.sequence = sequence;
      header.payload_bytes = reader.total_bytes();
      return sender.send(header, body.bytes());
    };
    return reader.run(first, [&](const Layout& part) { return sender.append_payload(part); });
  });
  (void)device.destroy_queue(resources.transfers);
  return status;
}

}  // namespace ob::daemon
