#include "device/host_buffer_pool.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ob {
namespace {

// Each idle buffer holds a file descriptor and two mappings.
constexpr std::size_t kMostIdle = 256;
// Between two looks whether the memory is wanted meanwhile: a millisecond or so.
constexpr std::uint64_t kPieceBytes = 4 << 20;

// Gives way to computing threads, but not altogether: it holds the pool's lock now and then.
void be_modest() noexcept {
  constexpr int kNice = 10;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  (void)::pthread_setname_np(::pthread_self(), "ob-clean");
}

}  // namespace

HostBufferPool::~HostBufferPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    give_up_ = true;
  }
  changed_.notify_all();
  if (cleaner_.joinable()) cleaner_.join();
}

std::shared_ptr<HostBuffer> HostBufferPool::take(std::uint64_t size_bytes) {
  const std::uint64_t segment_bytes = HostBuffer::segment_bytes_for(size_bytes);
  if (segment_bytes < kLeastBytes || limits_.capacity_bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  ++use_.asked;
  const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) {
    return idle.clean && idle.buffer->segment_bytes() == segment_bytes;
  });
  if (at == idle_.end()) return nullptr;
  ++use_.reused;
  use_.idle_bytes -= segment_bytes;
  std::shared_ptr<HostBuffer> buffer = std::move(at->buffer);
  idle_.erase(at);
  buffer->set_size(size_bytes);
  return buffer;
}

HostBufferPool::Buffers HostBufferPool::put(std::shared_ptr<HostBuffer> buffer,
                                            std::uint64_t room_bytes) {
  const std::uint64_t bytes = buffer->segment_bytes();
  const std::uint64_t limit = std::min(room_bytes, limits_.capacity_bytes);
  if (bytes < kLeastBytes || bytes > limit) return {};
  Buffers gone;
  const std::lock_guard lock(mutex_);
  idle_.push_front({std::move(buffer), Clock::now()});
  use_.idle_bytes += bytes;
  gone = drop_down_to(limit);
  if (!cleaner_.joinable()) cleaner_ = std::thread([this] { keep_clean(); });
  changed_.notify_all();
  return gone;
}

HostBufferPool::Buffers HostBufferPool::shrink_to(std::uint64_t idle_bytes) {
  const std::lock_guard lock(mutex_);
  return drop_down_to(idle_bytes);
}

HostBufferPool::Use HostBufferPool::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

void HostBufferPool::forget_last(Buffers& gone) {
  use_.idle_bytes -= idle_.back().buffer->segment_bytes();
  gone.push_back(std::move(idle_.back().buffer));
  idle_.pop_back();
}

HostBufferPool::Buffers HostBufferPool::drop_down_to(std::uint64_t idle_bytes) {
  Buffers gone;
  while (!idle_.empty() && (use_.idle_bytes > idle_bytes || idle_.size() > kMostIdle)) {
    forget_last(gone);
  }
  if (use_.idle_bytes > idle_bytes) give_up_ = true;  // the cleaner frees it within a piece
  return gone;
}

HostBufferPool::Buffers HostBufferPool::drop_older_than(Clock::time_point time) {
  Buffers gone;
  while (!idle_.empty() && idle_.back().since < time) forget_last(gone);
  return gone;
}

// The cleaner's thread: cleans what was put last first, lets go what nobody wanted for long.
void HostBufferPool::keep_clean() {
  be_modest();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    Buffers gone = drop_older_than(Clock::now() - limits_.longest_idle);
    const auto at =
        std::find_if(idle_.begin(), idle_.end(), [](const Idle& idle) { return !idle.clean; });
    if (gone.empty() && at == idle_.end()) {
      if (idle_.empty()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, idle_.back().since + limits_.longest_idle);
      }
      continue;
    }
    Idle taken;
    if (at != idle_.end()) {
      taken = std::move(*at);
      idle_.erase(at);
    }
    give_up_ = false;
    lock.unlock();
    gone.clear();
    const std::uint64_t bytes = taken.buffer ? taken.buffer->segment_bytes() : 0;
    taken.buffer = cleaned(std::move(taken.buffer));
    lock.lock();
    if (taken.buffer && !give_up_) {
      taken.clean = true;
      idle_.push_back(std::move(taken));
      idle_.sort([](const Idle& a, const Idle& b) { return a.since > b.since; });
    } else {
      use_.idle_bytes -= bytes;
    }
  }
}

// nullptr if it was given up, or there is no memory for another.
std::shared_ptr<HostBuffer> HostBufferPool::cleaned(std::shared_ptr<HostBuffer> buffer) const {
  if (buffer == nullptr) return nullptr;
  const bool fresh = buffer->exported();
  const std::uint64_t size_bytes = buffer->size_bytes();  // nobody touched what is behind
  if (fresh) {
    buffer.reset();
    auto made = HostBuffer::create(size_bytes);
    if (!made.ok()) return nullptr;
    buffer = std::move(made).value();
  }
  for (std::uint64_t done = 0; done < size_bytes; done += kPieceBytes) {
    if (give_up_) return nullptr;
    const std::uint64_t count = std::min(kPieceBytes, size_bytes - done);
    if (fresh) {
      (void)::madvise(buffer->data() + done, count, MADV_POPULATE_WRITE);  // Linux 5.14
    } else {
      std::memset(buffer->data() + done, 0, count);
    }
  }
  return buffer;
}

}  // namespace ob
