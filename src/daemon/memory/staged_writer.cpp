#include "daemon/memory/staged_writer.hpp"

#include <algorithm>
#include <utility>

#include "daemon/io/channel.hpp"
#include "wire/message.hpp"

namespace ob::daemon {
namespace {

// A queue remembers the sequences of twice as many commands. So it still has those of a block's
// pieces when the device reports on the block.
constexpr unsigned kMostPieces = wire::kInitialCredits / 2;
constexpr std::uint64_t kAlignBytes = 64;

}  // namespace

StagedWriter::StagedWriter(Device& device, QueueId queue, Reservation memory, BlockDone block_done)
    : device_(device),
      queue_(queue),
      memory_(std::move(memory)),
      block_done_(std::move(block_done)) {}

Status StagedWriter::wait_for(Block& block, const std::function<Status()>& check) {
  for (;;) {
    {
      std::unique_lock lock(block.mutex);
      if (block.changed.wait_for(lock, kPeerCheckInterval, [&] { return !block.busy; })) return {};
    }
    OB_RETURN_IF_ERROR(check());
  }
}

Result<std::byte*> StagedWriter::room(std::uint64_t size_bytes,
                                      const std::function<Status()>& check) {
  if (size_bytes > kBlockBytes - used_bytes_ || pieces_ == kMostPieces) {
    OB_RETURN_IF_ERROR(hand_over());
  }
  std::shared_ptr<Block>& block = blocks_[turn_];
  if (block == nullptr) {
    auto fresh = std::make_shared<Block>();
    OB_ASSIGN_OR_RETURN(fresh->memory, device_.staging(kBlockBytes));
    block = std::move(fresh);
  }
  if (pieces_ == 0) OB_RETURN_IF_ERROR(wait_for(*block, check));
  room_ = block->memory.get() + used_bytes_;
  used_bytes_ += (size_bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  used_bytes_ = std::min(used_bytes_, kBlockBytes);
  return room_;
}

Status StagedWriter::submit(BufferId local, const Region& region) {
  ++pieces_;
  return device_.write(queue_, local, region, Layout::bytes(room_, packed_bytes(region)));
}

Status StagedWriter::hand_over() {
  if (pieces_ == 0) {
    used_bytes_ = 0;  // the room of a payload that never came
    return {};
  }
  const std::shared_ptr<Block> block = blocks_[turn_];
  block->busy = true;
  turn_ = (turn_ + 1) % blocks_.size();
  used_bytes_ = 0;
  pieces_ = 0;
  return device_.on_reached(queue_, false, [block, done = block_done_](const QueueReport& report) {
    if (done) done(report);
    const std::lock_guard lock(block->mutex);
    block->busy = false;
    block->changed.notify_one();
  });
}

}  // namespace ob::daemon
