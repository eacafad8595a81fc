#include "daemon/peers/grant_link.hpp"

#include <exception>
#include <utility>

#include "daemon/memory/region_pieces.hpp"
#include "daemon/peers/grant_stream.hpp"

namespace ob::daemon {
namespace {

// Copies pieces of a region of one device to `room`, one after another.
class PieceReader {
 public:
  PieceReader(SendResources& from, const DeviceBuffer& buffer, const Region& region)
      : from_(from), buffer_(buffer), region_(region) {}

  // @pre the rooms are those of another region of as many bytes, both without gaps
  Status operator()(const Layout& room) {
    Region piece = region_;
    piece.offset_bytes += read_bytes_;
    piece.rows = piece.ld = room.total_bytes();
    read_bytes_ += piece.rows;
    if (std::byte* const memory = from_.device.host_view(buffer_.local)) {
      ob::copy(room, Layout::matrix(memory, piece));
      return {};
    }
    OB_RETURN_IF_ERROR(from_.open_transfers());
    OB_RETURN_IF_ERROR(from_.device.read(from_.transfers, buffer_.local, piece, room));
    return from_.device.synchronize(from_.transfers).status;
  }

 private:
  SendResources& from_;
  const DeviceBuffer& buffer_;
  const Region region_;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace

GrantLink::GrantLink(Device& device, std::shared_ptr<ResourceAccount> host_memory, Grants& grants,
                     std::string user, OpenStream open_stream, Reservation thread)
    : resources_{device, host_memory},
      grants_(grants),
      user_(std::move(user)),
      open_stream_(std::move(open_stream)),
      counted_thread_(std::move(thread)),
      landing_(device, std::move(host_memory)),
      thread_([this] { run(); }) {}

GrantLink::~GrantLink() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    if (stream_ != nullptr) stream_->interrupt();
    changed_.notify_all();
  }
  thread_.join();
  if (resources_.transfers) (void)resources_.device.destroy_queue(resources_.transfers);
}

void GrantLink::submit(PendingGrantCopy copy) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(std::move(copy));
  changed_.notify_all();
}

Status GrantLink::check_open() const {
  return closing_ ? Status(Code::unavailable, "the session has ended") : Status();
}

void GrantLink::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const PendingGrantCopy copy = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    Status status;
    try {
      status = carry_out(copy);
    } catch (const std::exception& error) {  // most likely out of memory
      status = Status(Code::internal, error.what());
    }
    copy.done->open(std::move(status));
    lock.lock();
  }
}

Status GrantLink::carry_out(const PendingGrantCopy& copy) {
  OB_RETURN_IF_ERROR(check_open());
  if (const auto grant = grants_.find(copy.range.secret)) return copy_here(copy, grant);
  return copy_remote(copy);
}

// Both buffers are in this daemon.
Status GrantLink::copy_here(const PendingGrantCopy& copy, const std::shared_ptr<Grant>& grant) {
  const std::uint32_t may = copy.put ? wire::kMayWrite : wire::kMayRead;
  OB_ASSIGN_OR_RETURN(const auto use, Grant::begin(grant, may, copy.range, user_, [] {}));
  OB_RETURN_IF_ERROR(use->settle([this] { return check_open(); }));
  SendResources there{use->device(), use->host_memory()};
  SendResources& from = copy.put ? resources_ : there;
  PieceReader read(from, copy.put ? *copy.buffer : *use->buffer(),
                   copy.put ? copy.region : use->region());
  const auto fetch = [&](const Layout& room) -> Status {
    OB_RETURN_IF_ERROR(use->check());
    OB_RETURN_IF_ERROR(check_open());
    return read(room);
  };
  RegionLanding landing_there(use->device(), use->host_memory());
  Status status = copy.put ? landing_there.land(*use->buffer(), use->region(), fetch)
                           : landing_.land(*copy.buffer, copy.region, fetch);
  if (there.transfers) (void)there.device.destroy_queue(there.transfers);
  if (status.ok() && copy.put) status = use->land();
  return status;
}

Status GrantLink::copy_remote(const PendingGrantCopy& copy) {
  std::shared_ptr<GrantStream> stream = stream_;  // only this thread replaces it
  if (stream == nullptr || !stream->alive()) {
    auto opened = open_stream_(copy.range.secret);
    if (opened.status().code() == Code::invalid_argument) {  // a grant that has ended is no mistake
      return {Code::denied, opened.status().message()};
    }
    OB_RETURN_IF_ERROR(opened.status());
    stream = std::make_shared<GrantStream>(std::move(*opened));
    const std::lock_guard lock(mutex_);
    OB_RETURN_IF_ERROR(check_open());
    stream_ = stream;
  }
  Status status = copy.put ? stream->store(resources_, copy.buffer, copy.region, copy.range)
                           : stream->fetch(landing_, *copy.buffer, copy.region, copy.range);
  if (!stream->broken()) return status;
  {
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
  }
  return {Code::unavailable, "lost the daemon of a grant (" + status.message() +
                                 "); the contents of its range are not known"};
}

}  // namespace ob::daemon
