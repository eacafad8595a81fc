#include "daemon/inbox.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "daemon/peer_link.hpp"
#include "daemon/staging.hpp"
#include "daemon/token.hpp"

namespace ob::daemon {
namespace {

// More than any algorithm of ours asks for at once.
constexpr std::size_t kMostExpected = 4096;
// How often a deliverer whose parcel nobody takes looks whether it is still wanted.
constexpr std::chrono::milliseconds kSlice{50};

bool same_shape(const Region& a, const Region& b) noexcept {
  return a.rows == b.rows && a.cols == b.cols && a.element_bytes == b.element_bytes &&
         a.triangle == b.triangle && a.word_bytes == b.word_bytes;
}

Status no_inbox() { return {Code::unavailable, "the inbox was closed"}; }

}  // namespace

// --- the client's side ---------------------------------------------------------------------------

Status Inbox::expect(ParcelId parcel, Awaited awaited) {
  const std::lock_guard lock(mutex_);
  if (closed_) return no_inbox();
  if (!broken_.ok()) return broken_;
  if (!parcel || expected_.count(parcel) != 0) {
    return {Code::protocol_error,
            "parcel " + std::to_string(parcel.value) + " is awaited already, or 0"};
  }
  if (expected_.size() >= kMostExpected) {
    return {Code::denied, "more than " + std::to_string(kMostExpected) + " parcels are awaited"};
  }
  expected_.emplace(parcel, Entry{std::move(awaited), false});
  return {};
}

void Inbox::activate(ParcelId parcel, const Status& queue) {
  std::unique_lock lock(mutex_);
  const auto at = expected_.find(parcel);
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

bool Inbox::at_rest() const {
  const std::lock_guard lock(mutex_);
  return expected_.empty() && landing_ == 0;
}

void Inbox::fail_all(std::unique_lock<std::mutex> lock, const Status& why) {
  const auto failed = std::exchange(expected_, {});
  lock.unlock();
  for (const auto& [parcel, entry] : failed) entry.awaited.done(why);
}

void Inbox::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (Deliverer* deliverer : deliverers_) deliverer->stop_();
  changed_.notify_all();
  changed_.wait(lock, [&] { return landing_ == 0; });
  fail_all(std::move(lock), no_inbox());
}

// --- who brings parcels --------------------------------------------------------------------------

Inbox::Deliverer::Deliverer(std::shared_ptr<Inbox> inbox, std::function<void()> stop)
    : inbox_(std::move(inbox)), stop_(std::move(stop)) {
  const std::lock_guard lock(inbox_->mutex_);
  inbox_->deliverers_.push_back(this);
  if (inbox_->closed_) stop_();
}

Inbox::Deliverer::~Deliverer() {
  {
    std::unique_lock lock(inbox_->mutex_);
    inbox_->deliverers_.remove(this);
    if (!left_in_peace_ && inbox_->broken_.ok()) {
      inbox_->broken_ = {Code::connection_lost, "lost the connection to a device that sends here"};
      inbox_->changed_.notify_all();
      inbox_->fail_all(std::move(lock), inbox_->broken_);
    }
  }
  if (queue_ != nullptr) (void)inbox_->device_.destroy_queue(queue_->local);
}

Status Inbox::claim(const wire::Parcel& parcel, Awaited& awaited,
                    const std::function<bool()>& left) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (closed_) return no_inbox();
    const auto at = expected_.find(parcel.parcel);
    if (at != expected_.end() && at->second.active) {
      if (!same_shape(at->second.awaited.region, parcel.region)) {
        return {Code::protocol_error, "parcel " + std::to_string(parcel.parcel.value) +
                                          " has another shape than what it is to fill"};
      }
      awaited = std::move(at->second.awaited);
      expected_.erase(at);
      ++landing_;
      return {};
    }
    changed_.wait_for(lock, kSlice);
    if (left()) return {Code::unavailable, "who sent the parcel has left"};
  }
}

Status Inbox::Deliverer::deliver(const wire::Parcel& parcel, const Pull& pull,
                                 const std::function<bool()>& left) {
  Awaited awaited;
  OB_RETURN_IF_ERROR(inbox_->claim(parcel, awaited, left));
  Status status;
  try {
    status = bring(parcel.parcel, awaited, pull);
  } catch (const std::exception& error) {  // out of memory: whoever waits must hear of it
    status = Status(Code::out_of_memory, error.what());
  }
  {
    const std::lock_guard lock(inbox_->mutex_);
    --inbox_->landing_;
    inbox_->changed_.notify_all();
  }
  awaited.done(status);
  return status;
}

// To where it belongs, and to whom it is handed on.
Status Inbox::Deliverer::bring(ParcelId parcel, const Awaited& awaited, const Pull& pull) {
  if (awaited.next == nullptr) return land(awaited, pull);
  const auto passage = awaited.next->hand_on(parcel, awaited.region, awaited.handing_on);
  const Status status = land(awaited, [&](const Layout& room) -> Status {
    OB_RETURN_IF_ERROR(pull(room));
    return passage->append(room);
  });
  if (!status.ok()) passage->fail(status);
  return status;
}

Status Inbox::Deliverer::land(const Awaited& awaited, const Pull& pull) {
  Device& device = inbox_->device_;
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

Status Inbox::Deliverer::open_queue() {
  Device& device = inbox_->device_;
  if (queue_ != nullptr) return {};
  auto queue = std::make_shared<SessionQueue>();
  OB_ASSIGN_OR_RETURN(Reservation memory, inbox_->reserve_host(StagedWriter::kHostBytes));
  queue->writer = std::make_shared<StagedWriter>(device, std::move(memory));
  OB_ASSIGN_OR_RETURN(queue->local, device.create_queue());
  queue_ = std::move(queue);
  return {};
}

// --- all of a daemon's ---------------------------------------------------------------------------

Result<std::shared_ptr<Inbox>> Inboxes::open(Device& device,
                                             std::shared_ptr<MemoryAccount> host_memory) {
  OB_ASSIGN_OR_RETURN(const wire::Token ticket, new_token());
  auto inbox = std::make_shared<Inbox>(device, ticket, std::move(host_memory));
  const std::lock_guard lock(mutex_);
  std::erase_if(inboxes_, [](const auto& known) { return known.expired(); });
  inboxes_.push_back(inbox);
  return inbox;
}

std::shared_ptr<Inbox> Inboxes::find(const wire::Token& ticket) {
  const std::lock_guard lock(mutex_);
  for (const auto& known : inboxes_) {
    auto inbox = known.lock();
    if (inbox != nullptr && same(inbox->ticket(), ticket)) return inbox->closed() ? nullptr : inbox;
  }
  return nullptr;
}

}  // namespace ob::daemon
