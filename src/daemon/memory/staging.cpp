#include "daemon/memory/staging.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/chunks.hpp"

namespace ob::daemon {
namespace {

// While a payload is held back no ping is answered: the client hears this often that the daemon
// lives.
constexpr auto kSignOfLife = std::chrono::milliseconds(500);
// Their sequences must still be known when the device reports on a block.
constexpr unsigned kMostPieces = wire::kInitialCredits / 2;
constexpr std::uint64_t kAlignBytes = 64;

using Take = std::function<Status(const Region&)>;

// All of `region`'s elements in one column, as a region without triangle.
Region column_of(const Region& region, std::uint64_t column) {
  std::uint64_t first = 0;
  std::uint64_t end = region.rows;
  switch (region.triangle) {
    case Triangle::full: break;
    case Triangle::upper: end = std::min(column + 1, region.rows); break;
    case Triangle::upper_strict: end = std::min(column, region.rows); break;
    case Triangle::lower: first = std::min(column, region.rows); break;
    case Triangle::lower_strict: first = std::min(column + 1, region.rows); break;
  }
  Region part = region;
  part.triangle = Triangle::full;
  part.offset_bytes += (column * region.ld + first) * region.element_bytes;
  part.rows = end - first;
  part.cols = 1;
  return part;
}

Status in_chunks(const Region& region, std::uint64_t most_bytes, const Take& take) {
  const Chunks chunks(region, most_bytes);
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    const ChunkParts parts = chunks.at(i);  // none beyond a triangle's end
    for (const Region& part : parts.span()) OB_RETURN_IF_ERROR(take(part));
  }
  return {};
}

}  // namespace

Status for_each_piece(const Region& region, std::uint64_t most_bytes, const Take& take) {
  const bool upper =
      region.triangle == Triangle::upper || region.triangle == Triangle::upper_strict;
  // Columns of an upper triangle differ in length from the top: no region has several of them.
  if (upper || region.rows > most_bytes / region.element_bytes) {
    for (std::uint64_t j = 0; j < region.cols; ++j) {
      OB_RETURN_IF_ERROR(in_chunks(column_of(region, j), most_bytes, take));
    }
    return {};
  }
  return in_chunks(region, most_bytes, take);
}

// --- to the device -------------------------------------------------------------------------------

Status StagedWriter::wait_for(Block& block, const std::function<Status()>& idle) {
  std::unique_lock lock(block.mutex);
  while (!block.changed.wait_for(lock, kSignOfLife, [&] { return !block.busy; })) {
    lock.unlock();
    OB_RETURN_IF_ERROR(idle());
    lock.lock();
  }
  return {};
}

Result<std::byte*> StagedWriter::room(const std::shared_ptr<SessionQueue>& queue,
                                      std::uint64_t size_bytes,
                                      const std::function<Status()>& idle) {
  if (size_bytes > kBlockBytes - used_bytes_ || pieces_ == kMostPieces) {
    OB_RETURN_IF_ERROR(hand_over(queue));
  }
  std::shared_ptr<Block>& block = blocks_[turn_];
  if (block == nullptr) {
    auto fresh = std::make_shared<Block>();
    OB_ASSIGN_OR_RETURN(fresh->memory, device_.staging(kBlockBytes));
    block = std::move(fresh);
  }
  if (pieces_ == 0) OB_RETURN_IF_ERROR(wait_for(*block, idle));
  room_ = block->memory.get() + used_bytes_;
  used_bytes_ += (size_bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  used_bytes_ = std::min(used_bytes_, kBlockBytes);
  return room_;
}

Status StagedWriter::submit(SessionQueue& queue, BufferId local, const Region& region,
                            std::uint64_t sequence) {
  ++pieces_;
  OB_RETURN_IF_ERROR(
      device_.write(queue.local, local, region, Layout::bytes(room_, packed_bytes(region))));
  queue.note_on_device(sequence);
  return {};
}

Status StagedWriter::hand_over(const std::shared_ptr<SessionQueue>& queue) {
  if (pieces_ == 0) return {};
  const std::shared_ptr<Block> block = blocks_[turn_];
  block->busy = true;
  turn_ = (turn_ + 1) % blocks_.size();
  used_bytes_ = 0;
  pieces_ = 0;
  return device_.on_reached(queue->local, false, [block, queue](const QueueReport& report) {
    (void)queue->failed_on_device(report);
    const std::lock_guard lock(block->mutex);
    block->busy = false;
    block->changed.notify_one();
  });
}

// --- from the device -----------------------------------------------------------------------------

Status StagedReader::fetch(const Region& piece, std::byte* to) {
  return device_.read(transfers_, buffer_->local, piece, Layout::bytes(to, packed_bytes(piece)));
}

Status StagedReader::run(const std::function<Status(const Status&)>& first,
                         const std::function<Status(const Layout&)>& take) {
  std::array<std::shared_ptr<std::byte>, 2> blocks;
  std::uint64_t waiting_bytes = 0;  // in blocks[turn]
  std::uint64_t filled_bytes = 0;   // of the other one, being read
  unsigned turn = 0;
  bool said = false;
  // The block that is being read is complete: it is sent while the next one is read.
  const auto pass = [&]() -> Status {
    const QueueReport report = device_.synchronize(transfers_);
    waiting_bytes = std::exchange(filled_bytes, 0);
    turn ^= 1U;
    return report.status;
  };
  const auto say = [&](const Status& status) {
    return std::exchange(said, true) ? status : first(status);
  };
  const auto send = [&]() -> Status {
    const std::uint64_t n = std::exchange(waiting_bytes, 0);
    return n == 0 ? Status() : take(Layout::bytes(blocks[turn ^ 1U].get(), n));
  };
  Status status = for_each_piece(region_, kBlockBytes, [&](const Region& piece) -> Status {
    const std::uint64_t n = packed_bytes(piece);
    if (n > kBlockBytes - filled_bytes) OB_RETURN_IF_ERROR(pass());
    if (blocks[turn] == nullptr) {
      OB_ASSIGN_OR_RETURN(blocks[turn], device_.staging(kBlockBytes));
    }
    OB_RETURN_IF_ERROR(fetch(piece, blocks[turn].get() + filled_bytes));
    filled_bytes += n;
    if (waiting_bytes == 0) return {};
    OB_RETURN_IF_ERROR(say({}));
    return send();
  });
  const Status passed = pass();  // whatever happened: the blocks must not be in use
  if (status.ok()) status = passed;
  if (!status.ok()) return said ? status : first(status);
  OB_RETURN_IF_ERROR(say({}));
  return send();
}

}  // namespace ob::daemon
