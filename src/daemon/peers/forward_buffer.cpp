#include "daemon/peers/forward_buffer.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "daemon/peers/intervals.hpp"

namespace ob::daemon {
Result<ForwardBlocks::Block> ForwardBlocks::acquire() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      Block block = std::move(spare_.back());
      spare_.pop_back();
      return block;
    }
  }
  OB_ASSIGN_OR_RETURN(Reservation reserved, ResourceAccount::reserve(host_memory_, kBlockBytes));
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[kBlockBytes]);
  if (memory == nullptr) {
    return Status(Code::out_of_memory, "no host memory to forward a peer message");
  }
  return Block{std::move(memory), std::move(reserved)};
}

void ForwardBlocks::release(Block block) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(block));
}

ForwardBuffer::~ForwardBuffer() {
  for (Part& part : parts_) blocks_->release(std::move(part.block));
}

// Only this side adds and fills blocks: it may fill the last one without the lock.
Status ForwardBuffer::append(const Layout& part) {
  Layout::Cursor source(part);
  while (!source.done()) {
    std::unique_lock lock(mutex_);
    if (parts_.empty() || parts_.back().filled_bytes == ForwardBlocks::kBlockBytes) {
      lock.unlock();
      OB_ASSIGN_OR_RETURN(ForwardBlocks::Block block, blocks_->acquire());
      lock.lock();
      parts_.push_back({std::move(block), 0});
    }
    std::byte* const memory = parts_.back().block.memory.get();
    const std::size_t from = parts_.back().filled_bytes;
    lock.unlock();
    const std::uint64_t copied = gather(source, {memory + from, ForwardBlocks::kBlockBytes - from});
    lock.lock();
    parts_.back().filled_bytes = from + copied;
    changed_.notify_all();
  }
  return {};
}

void ForwardBuffer::fail(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = why;
  changed_.notify_all();
}

Result<std::span<const std::byte>> ForwardBuffer::read(const std::function<bool()>& cancelled) {
  std::unique_lock lock(mutex_);
  const auto has_bytes = [&] {
    return !parts_.empty() && parts_.front().filled_bytes > consumed_bytes_;
  };
  while (failure_.ok() && !has_bytes()) {
    changed_.wait_for(lock, kCancelCheckInterval);
    if (cancelled()) return Status(Code::unavailable, "the peer message is no longer wanted");
  }
  OB_RETURN_IF_ERROR(failure_);
  const Part& part = parts_.front();
  return std::span<const std::byte>(part.block.memory.get() + consumed_bytes_,
                                    part.filled_bytes - consumed_bytes_);
}

void ForwardBuffer::consume(std::size_t count_bytes) {
  std::unique_lock lock(mutex_);
  consumed_bytes_ += count_bytes;
  if (consumed_bytes_ < ForwardBlocks::kBlockBytes) return;
  ForwardBlocks::Block done = std::move(parts_.front().block);
  parts_.pop_front();
  consumed_bytes_ = 0;
  lock.unlock();
  blocks_->release(std::move(done));
}

}  // namespace ob::daemon
