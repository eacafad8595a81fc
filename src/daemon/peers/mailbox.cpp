#include "daemon/peers/mailbox.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "daemon/io/token.hpp"
#include "daemon/memory/staging.hpp"
#include "daemon/peers/peer_link.hpp"

namespace ob::daemon {
namespace {

// More than any algorithm of ours asks for at once.
constexpr std::size_t kMostExpected = 4096;
// How often a deliverer whose peer message nobody takes looks whether it is still wanted.
constexpr std::chrono::milliseconds kSlice{50};

bool same_shape(const Region& a, const Region& b) noexcept {
  return a.rows == b.rows && a.cols == b.cols && a.element_bytes == b.element_bytes &&
         a.triangle == b.triangle && a.word_bytes == b.word_bytes;
}

Status no_inbox() { return {Code::unavailable, "the mailbox was closed"}; }

}  // namespace

// --- the client's side ---------------------------------------------------------------------------

Status Mailbox::expect(PeerMessageId peer_message, Awaited awaited) {
  const std::lock_guard lock(mutex_);
  if (closed_) return no_inbox();
  if (!broken_.ok()) return broken_;
  if (!peer_message || expected_.count(peer_message) != 0) {
    return {Code::protocol_error,
            "peer message " + std::to_string(peer_message.value) + " is awaited already, or 0"};
  }
  if (expected_.size() >= kMostExpected) {
    return {Code::denied,
            "more than " + std::to_string(kMostExpected) + " peer messages are awaited"};
  }
  expected_.emplace(peer_message, Entry{std::move(awaited), false});
  return {};
}

void Mailbox::activate(PeerMessageId peer_message, const Status& queue) {
  std::unique_lock lock(mutex_);
  const auto at = expected_.find(peer_message);
  if (at == expected_.end()) return;  // it was told why
  if (queue.ok()) {
    at->second.active = true;
    changed_.notify_all();
    return;
  }
  const Awaited failed = std::move(at->second.awaited);
  expected_.erase(at);
  lock.unlock();
  failed.done(queue);
}

bool Mailbox::at_rest() const {
  const std::lock_guard lock(mutex_);
  return expected_.empty() && landing_ == 0;
}

void Mailbox::fail_all(std::unique_lock<std::mutex> lock, const Status& why) {
  const auto failed = std::exchange(expected_, {});
  lock.unlock();
  for (const auto& [peer_message, entry] : failed) entry.awaited.done(why);
}

void Mailbox::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (Deliverer* deliverer : deliverers_) deliverer->stop_();
  changed_.notify_all();
  changed_.wait(lock, [&] { return landing_ == 0; });
  fail_all(std::move(lock), no_inbox());
}

// --- who brings peer messages
// --------------------------------------------------------------------------

Mailbox::Deliverer::Deliverer(std::shared_ptr<Mailbox> mailbox, std::function<void()> stop)
    : mailbox_(std::move(mailbox)), stop_(std::move(stop)) {
  const std::lock_guard lock(mailbox_->mutex_);
  mailbox_->deliverers_.push_back(this);
  if (mailbox_->closed_) stop_();
}

Mailbox::Deliverer::~Deliverer() {
  {
    std::unique_lock lock(mailbox_->mutex_);
    mailbox_->deliverers_.remove(this);
    if (!left_in_peace_ && mailbox_->broken_.ok()) {
      mailbox_->broken_ = {Code::connection_lost,
                           "lost the connection to a device that sends here"};
      mailbox_->changed_.notify_all();
      mailbox_->fail_all(std::move(lock), mailbox_->broken_);
    }
  }
  if (queue_ != nullptr) (void)mailbox_->device_.destroy_queue(queue_->local);
}

Status Mailbox::claim(const wire::PeerMessage& peer_message, Awaited& awaited,
                      const std::function<bool()>& left) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closed_) return no_inbox();
    const auto at = expected_.find(peer_message.peer_message);
    if (at != expected_.end() && at->second.active) {
      if (!same_shape(at->second.awaited.region, peer_message.region)) {
        return {Code::protocol_error, "peer message " +
                                          std::to_string(peer_message.peer_message.value) +
                                          " has another shape than what it is to fill"};
      }
      awaited = std::move(at->second.awaited);
      expected_.erase(at);
      ++landing_;
      return {};
    }
    changed_.wait_for(lock, kSlice);
    if (left()) return {Code::unavailable, "who sent the peer message has left"};
  }
}

Status Mailbox::Deliverer::deliver(const wire::PeerMessage& peer_message, const Pull& pull,
                                   const std::function<bool()>& left) {
  Awaited awaited;
  OB_RETURN_IF_ERROR(mailbox_->claim(peer_message, awaited, left));
  Status status;
  try {
    status = bring(peer_message.peer_message, awaited, pull);
  } catch (const std::exception& error) {  // out of memory: whoever waits must hear of it
    status = Status(Code::out_of_memory, error.what());
  }
  {
    const std::lock_guard lock(mailbox_->mutex_);
    --mailbox_->landing_;
    mailbox_->changed_.notify_all();
  }
  awaited.done(status);
  return status;
}

// To where it belongs, and to whom it is handed on.
Status Mailbox::Deliverer::bring(PeerMessageId peer_message, const Awaited& awaited,
                                 const Pull& pull) {
  if (awaited.next == nullptr) return land(awaited, pull);
  const auto passage = awaited.next->hand_on(peer_message, awaited.region, awaited.handing_on);
  const Status status = land(awaited, [&](const Layout& room) -> Status {
    OB_RETURN_IF_ERROR(pull(room));
    return passage->append(room);
  });
  if (!status.ok()) passage->fail(status);
  return status;
}

Status Mailbox::Deliverer::land(const Awaited& awaited, const Pull& pull) {
  Device& device = mailbox_->device_;
  std::byte* const memory = device.host_view(awaited.buffer->local);
  if (memory != nullptr) {
    return for_each_piece(awaited.region, StagedWriter::kBlockBytes,
                          [&](const Region& piece) { return pull(Layout::matrix(memory, piece)); });
  }
  OB_RETURN_IF_ERROR(open_queue());
  // The device copies one block while the next one arrives.
  const Status status =
      for_each_piece(awaited.region, StagedWriter::kBlockBytes, [&](const Region& piece) -> Status {
        const std::uint64_t size_bytes = packed_bytes(piece);
        OB_ASSIGN_OR_RETURN(std::byte* const room,
                            queue_->writer->room(queue_, size_bytes, [] { return Status(); }));
        OB_RETURN_IF_ERROR(pull(Layout::bytes(room, size_bytes)));
        return queue_->writer->submit(*queue_, awaited.buffer->local, piece, 0);
      });
  const QueueReport report = device.synchronize(queue_->local);
  return status.ok() ? report.status : status;
}

Status Mailbox::Deliverer::open_queue() {
  Device& device = mailbox_->device_;
  if (queue_ != nullptr) return {};
  auto queue = std::make_shared<SessionQueue>();
  OB_ASSIGN_OR_RETURN(Reservation memory, mailbox_->reserve_host(StagedWriter::kHostBytes));
  queue->writer = std::make_shared<StagedWriter>(device, std::move(memory));
  OB_ASSIGN_OR_RETURN(queue->local, device.create_queue());
  queue_ = std::move(queue);
  return {};
}

// --- all of a daemon's ---------------------------------------------------------------------------

Result<std::shared_ptr<Mailbox>> Mailboxes::open(Device& device,
                                                 std::shared_ptr<MemoryAccount> host_memory) {
  OB_ASSIGN_OR_RETURN(const wire::Token access_key, new_token());
  auto mailbox = std::make_shared<Mailbox>(device, access_key, std::move(host_memory));
  const std::lock_guard lock(mutex_);
  std::erase_if(mailboxes_, [](const auto& known) { return known.expired(); });
  mailboxes_.push_back(mailbox);
  return mailbox;
}

std::shared_ptr<Mailbox> Mailboxes::find(const wire::Token& access_key) {
  const std::lock_guard lock(mutex_);
  for (const auto& known : mailboxes_) {
    auto mailbox = known.lock();
    if (mailbox != nullptr && same(mailbox->access_key(), access_key))
      return mailbox->closed() ? nullptr : mailbox;
  }
  return nullptr;
}

}  // namespace ob::daemon
