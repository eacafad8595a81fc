#include "transport/ucx/channel.hpp"

#include <cstring>

#include "base/contract.hpp"

namespace ob::transport::ucx {
namespace {

// Limit of consecutive progress calls before the caller continues.
constexpr int kTurns = 64;

template <class T>
std::span<const std::byte> bytes_of(const T& header) {
  return std::as_bytes(std::span(&header, 1));
}

template <class T>
bool read(std::span<const std::byte> bytes, const Token& token, T& header) {
  if (bytes.size() != sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.token == token;
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(bool this_machine_only) {
  std::unique_ptr<Channel> channel(new Channel);
  OB_ASSIGN_OR_RETURN(channel->hello_.token, random_token());
  OB_ASSIGN_OR_RETURN(channel->worker_, Worker::create(this_machine_only, *channel));
  OB_ASSIGN_OR_RETURN(channel->hello_.address, channel->worker_->address());
  channel->hello_.version = channel->worker_->version();
  return channel;
}

Channel::~Channel() = default;

Status Channel::connect(const Hello& peer) {
  peer_token_ = peer.token;
  OB_RETURN_IF_ERROR(worker_->connect(peer.address));
  send_credit();  // tells the peer that our side is set up
  return {};
}

void Channel::send(std::size_t size_bytes) {
  OB_EXPECT(connected());
  PendingSend& piece = send_ring_.commit(size_bytes, peer_token_);
  worker_->send(MessageKind::data, bytes_of(piece.header), piece.data, piece.operation);
}

void Channel::consume(std::size_t size_bytes) {
  receive_ring_.consume(size_bytes);
  give_credit();
}

void Channel::progress() {
  OB_EXPECT(connected());
  for (int i = 0; i < kTurns && worker_->progress(); ++i) fetch_announced();
  fetch_announced();
  if (!send_ring_.settle() || !receive_ring_.settle()) fail("UCX could not transfer");
  if (crediting_.failed) fail("UCX could not transfer");
  if (worker_->failure() != nullptr) fail(worker_->failure());
  give_credit();
}

void Channel::fetch_announced() {
  // This runs outside of announced(), which UCX calls: a callback must not call UCX.
  for (const Fetch& fetch : fetches_)
    worker_->fetch(fetch.from, fetch.into->to, fetch.into->operation);
  fetches_.clear();
}

void Channel::give_credit() {
  const bool due = receive_ring_.consumed() - credit_.consumed >= kPortionBytes;
  if (due && crediting_.done && failure_ == nullptr) send_credit();
}

void Channel::send_credit() {
  credit_ = {peer_token_, receive_ring_.consumed()};
  crediting_ = {};
  worker_->send(MessageKind::credit, bytes_of(credit_), {}, crediting_);
}

void Channel::arrived(MessageKind kind, std::span<const std::byte> header,
                      std::span<const std::byte> data) {
  if (kind == MessageKind::credit) return take_credit(header);
  ReceiveRing::Piece* const piece = expect(header, data.size());
  if (piece == nullptr) return;
  std::memcpy(piece->to, data.data(), data.size());
  piece->operation.done = true;
}

bool Channel::announced(std::span<const std::byte> header, Announced data) {
  ReceiveRing::Piece* const piece = expect(header, data.size_bytes);
  if (piece != nullptr) fetches_.push_back({data, piece});
  return piece != nullptr;
}

ReceiveRing::Piece* Channel::expect(std::span<const std::byte> header, std::size_t size_bytes) {
  DataHeader data;
  if (!read(header, hello_.token, data)) return nullptr;  // from another sender
  heard_ = true;
  ReceiveRing::Piece* const piece = receive_ring_.expect(data.offset, size_bytes);
  if (piece == nullptr) breach();
  return piece;
}

void Channel::take_credit(std::span<const std::byte> header) {
  CreditHeader credit;
  if (!read(header, hello_.token, credit)) return;
  heard_ = true;
  if (!send_ring_.credit(credit.consumed)) breach();
}

void Channel::breach() noexcept {
  corrupt_ = true;
  fail("it sent what its protocol forbids");
}

}  // namespace ob::transport::ucx
