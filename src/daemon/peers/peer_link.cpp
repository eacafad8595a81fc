#include "daemon/peers/peer_link.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/memory/staging.hpp"
#include "session/message_sender.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using std::chrono::milliseconds;
using transport::Clock;

// How often an idle link looks whether its other end is there.
constexpr milliseconds kLook{1000};
// More than any client has in flight.
constexpr std::size_t kMostWaiting = 4096;

// What both ends must agree on.
Region shape_of(Region region) noexcept {
  region.offset_bytes = 0;
  region.ld = std::max<std::uint64_t>(1, region.rows);
  return region;
}

// --- to another daemon ---------------------------------------------------------------------------

class StreamRoute final : public Route, private session::SendWaiter {
 public:
  explicit StreamRoute(std::unique_ptr<transport::Stream> stream)
      : stream_(std::move(stream)), sender_(*stream_, *this) {}

  Status carry(Departure& from, const Outgoing& peer_message,
               const std::function<bool()>& left) override {
    if (peer_message.passage != nullptr) {
      OB_RETURN_IF_ERROR(carry_on(peer_message, left));
    } else if (std::byte* const memory = from.device.host_view(peer_message.buffer->local)) {
      OB_RETURN_IF_ERROR(announce(peer_message));
      OB_RETURN_IF_ERROR(sender_.append_payload(Layout::matrix(memory, peer_message.region)));
    } else {
      OB_RETURN_IF_ERROR(from.open_transfers());
      StagedReader reader(from.device, from.transfers, peer_message.buffer, peer_message.region);
      const auto begin = [&](const Status& had) { return had.ok() ? announce(peer_message) : had; };
      OB_RETURN_IF_ERROR(
          reader.run(begin, [&](const Layout& part) { return sender_.append_payload(part); }));
    }
    return sender_.flush();
  }

  // It says nothing after `joined`.
  bool alive() override {
    std::byte byte{};
    const iovec part{&byte, 1};
    const auto received = stream_->try_receive({&part, 1});
    return received.ok() && *received == 0;
  }

  // Who takes no bytes now has no need of it.
  void farewell() override {
    leaving_ = true;
    wire::Header header;
    header.opcode = wire::Opcode::goodbye;
    if (sender_.send(header, {}).ok()) (void)sender_.flush();
  }

  void give_up() override { stream_->shut_down(); }
  void interrupt() noexcept override { stream_->shut_down(); }

 private:
  Status announce(const Outgoing& peer_message) {
    wire::Body body;
    wire::encode(wire::PeerMessage{peer_message.peer_message, shape_of(peer_message.region)}, body);
    wire::Header header;
    header.opcode = wire::Opcode::peer_message;
    header.payload_bytes = packed_bytes(peer_message.region);
    return sender_.send(header, body.bytes());
  }
  Status carry_on(const Outgoing& peer_message, const std::function<bool()>& left) {
    OB_RETURN_IF_ERROR(announce(peer_message));
    for (std::uint64_t remaining = packed_bytes(peer_message.region); remaining > 0;) {
      OB_ASSIGN_OR_RETURN(const auto part, peer_message.passage->await(left));
      OB_RETURN_IF_ERROR(
          sender_.append_payload(Layout::bytes(const_cast<std::byte*>(part.data()), part.size())));
      OB_RETURN_IF_ERROR(sender_.flush());
      peer_message.passage->consume(part.size());
      remaining -= part.size();
    }
    return {};
  }
  // Until somebody stops it, or the other end has left: a receiver may be busy for long.
  Status wait_to_send() override {
    if (leaving_) return {Code::unavailable, "the peer takes no bytes"};
    const Status status = stream_->wait(true, true, Clock::now() + kLook);
    if (!status.ok() && status.code() != Code::deadline_exceeded) return status;
    return alive() ? Status() : Status(Code::connection_lost, "the peer takes no more");
  }

  const std::unique_ptr<transport::Stream> stream_;
  session::MessageSender sender_;
  bool leaving_ = false;
};

// --- within this daemon --------------------------------------------------------------------------

class LocalRoute final : public Route {
 public:
  explicit LocalRoute(std::shared_ptr<Mailbox> mailbox)
      : mailbox_(std::move(mailbox)),
        deliverer_(std::make_unique<Mailbox::Deliverer>(mailbox_, [] {})) {}

  Status carry(Departure& from, const Outgoing& peer_message,
               const std::function<bool()>& left) override {
    const auto unwanted = [&] { return left() || mailbox_->closed(); };
    const wire::PeerMessage announced{peer_message.peer_message, shape_of(peer_message.region)};
    if (peer_message.passage != nullptr) {
      return deliverer_->deliver(
          announced,
          [&](const Layout& room) { return take_on(*peer_message.passage, room, unwanted); }, left);
    }
    // the receiver has the same shape, so it asks for the same pieces
    std::vector<Region> pieces;
    OB_RETURN_IF_ERROR(for_each_piece(peer_message.region, StagedReader::kBlockBytes,
                                      [&](const Region& piece) -> Status {
                                        pieces.push_back(piece);
                                        return {};
                                      }));
    std::size_t next = 0;
    return deliverer_->deliver(
        announced,
        [&](const Layout& room) {
          return fetch(from, peer_message.buffer->local, pieces[next++], room);
        },
        left);
  }

  bool alive() override { return !mailbox_->closed(); }

  void farewell() override {
    deliverer_->leave_in_peace();
    deliverer_.reset();
  }

  void give_up() override { deliverer_.reset(); }
  void interrupt() noexcept override {}  // carry() looks at `left`

 private:
  static Status fetch(Departure& from, BufferId buffer, const Region& piece, const Layout& room) {
    if (std::byte* const memory = from.device.host_view(buffer)) {
      ob::copy(room, Layout::matrix(memory, piece));
      return {};
    }
    OB_RETURN_IF_ERROR(from.open_transfers());
    OB_RETURN_IF_ERROR(from.device.read(from.transfers, buffer, piece, room));
    return from.device.synchronize(from.transfers).status;
  }

  static Status take_on(Passage& passage, const Layout& room, const std::function<bool()>& left) {
    for (Layout::Cursor to(room); !to.done();) {
      OB_ASSIGN_OR_RETURN(const auto part, passage.await(left));
      passage.consume(scatter(part, to));
    }
    return {};
  }

  const std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Mailbox::Deliverer> deliverer_;
};

}  // namespace

std::unique_ptr<Route> make_route(std::unique_ptr<transport::Stream> stream) {
  return std::make_unique<StreamRoute>(std::move(stream));
}

std::unique_ptr<Route> make_route(std::shared_ptr<Mailbox> mailbox) {
  return std::make_unique<LocalRoute>(std::move(mailbox));
}

// --- the link ------------------------------------------------------------------------------------

Status Departure::open_transfers() {
  if (transfers) return {};
  OB_ASSIGN_OR_RETURN(memory, MemoryAccount::reserve(host_memory, 2 * StagedReader::kBlockBytes));
  OB_ASSIGN_OR_RETURN(transfers, device.create_queue());
  return {};
}

PeerLink::PeerLink(Device& device, std::shared_ptr<MemoryAccount> host_memory,
                   std::unique_ptr<Route> route)
    : from_{device, host_memory},
      blocks_(std::make_shared<PassageBlocks>(std::move(host_memory))),
      route_(std::move(route)),
      thread_([this] { run(); }) {}

PeerLink::~PeerLink() {
  close();
  if (from_.transfers) (void)from_.device.destroy_queue(from_.transfers);
}

std::shared_ptr<Passage> PeerLink::hand_on(PeerMessageId peer_message, const Region& region,
                                           std::shared_ptr<const void> sending) {
  auto passage = std::make_shared<Passage>(blocks_);
  send({peer_message, region, nullptr, passage, std::move(sending)});
  return passage;
}

void PeerLink::send(Outgoing peer_message) {
  const std::lock_guard lock(mutex_);
  if (dead_ || closing_) return;
  if (waiting_.size() >= kMostWaiting) {
    give_up();
    return;
  }
  waiting_.push_back(std::move(peer_message));
  changed_.notify_all();
}

// The link's thread does the rest: the caller may be one that must not wait.
// @pre mutex_ is held
void PeerLink::give_up() {
  dead_ = true;
  route_->interrupt();
  changed_.notify_all();
}

void PeerLink::fail() {
  const std::lock_guard lock(mutex_);
  give_up();
}

void PeerLink::close(transport::Deadline until) {
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    const auto done = [&] { return dead_ || (waiting_.empty() && !carrying_); };
    if (!changed_.wait_until(lock, until, done)) give_up();
  }
  if (thread_.joinable()) thread_.join();
}

void PeerLink::run() {
  const auto left = [this] { return dead_.load(); };
  std::unique_lock lock(mutex_);
  while (!dead_) {
    if (waiting_.empty()) {
      if (closing_) break;
      if (changed_.wait_for(lock, kLook) == std::cv_status::timeout && !route_->alive()) {
        dead_ = true;
      }
      continue;
    }
    std::optional<Outgoing> peer_message(std::move(waiting_.front()));
    waiting_.pop_front();
    carrying_ = true;
    lock.unlock();
    Status status;
    try {
      status = route_->carry(from_, *peer_message, left);
    } catch (const std::exception& error) {  // out of memory, most likely
      status = Status(Code::internal, error.what());
    }
    peer_message.reset();
    lock.lock();
    carrying_ = false;
    changed_.notify_all();
    if (!status.ok()) {
      spdlog::info("a device's way to another ended: {}", status.message());
      dead_ = true;
    }
  }
  const auto unsent = std::exchange(waiting_, {});
  const bool gave_up = dead_;
  lock.unlock();
  if (gave_up) {
    route_->give_up();
  } else {
    route_->farewell();
  }
}

}  // namespace ob::daemon
