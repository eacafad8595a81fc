#include "daemon/peers/passage.hpp"

#include <new>
#include <utility>

namespace ob::daemon {
namespace {

// How often who hands on looks whether it is still wanted.
constexpr std::chrono::milliseconds kSlice{50};

}  // namespace

Result<PassageBlocks::Block> PassageBlocks::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      Block block = std::move(spare_.back());
      spare_.pop_back();
      return block;
    }
  }
  OB_ASSIGN_OR_RETURN(Reservation reserved, MemoryAccount::reserve(host_memory_, kBlockBytes));
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[kBlockBytes]);
  if (memory == nullptr)
    return Status(Code::out_of_memory, "no host memory to hand a peer message on");
  return Block{std::move(memory), std::move(reserved)};
}

void PassageBlocks::give_back(Block block) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(block));
}

// Only this side adds blocks and fills them: the last one may be filled without the lock.
Status Passage::append(const Layout& part) {
  Layout::Cursor source(part);
  while (!source.done()) {
    std::unique_lock lock(mutex_);
    if (parts_.empty() || parts_.back().filled_bytes == PassageBlocks::kBlockBytes) {
      lock.unlock();
      OB_ASSIGN_OR_RETURN(PassageBlocks::Block block, blocks_->take());
      lock.lock();
      parts_.push_back({std::move(block), 0});
    }
    std::byte* const memory = parts_.back().block.memory.get();
    const std::size_t from = parts_.back().filled_bytes;
    lock.unlock();
    const std::uint64_t copied = gather(source, {memory + from, PassageBlocks::kBlockBytes - from});
    lock.lock();
    parts_.back().filled_bytes = from + copied;
    changed_.notify_all();
  }
  return {};
}

void Passage::fail(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = why;
  changed_.notify_all();
}

Result<std::span<const std::byte>> Passage::await(const std::function<bool()>& left) {
  std::unique_lock lock(mutex_);
  const auto is_there = [&] {
    return !parts_.empty() && parts_.front().filled_bytes > consumed_bytes_;
  };
  while (failure_.ok() && !is_there()) {
    changed_.wait_for(lock, kSlice);
    if (left()) return Status(Code::unavailable, "nobody wants the peer message any more");
  }
  OB_RETURN_IF_ERROR(failure_);
  const Part& part = parts_.front();
  return std::span<const std::byte>(part.block.memory.get() + consumed_bytes_,
                                    part.filled_bytes - consumed_bytes_);
}

void Passage::consume(std::size_t count_bytes) {
  std::unique_lock lock(mutex_);
  consumed_bytes_ += count_bytes;
  if (consumed_bytes_ < PassageBlocks::kBlockBytes) return;
  PassageBlocks::Block done = std::move(parts_.front().block);
  parts_.pop_front();
  consumed_bytes_ = 0;
  lock.unlock();
  blocks_->give_back(std::move(done));
}

}  // namespace ob::daemon
