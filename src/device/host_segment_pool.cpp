#include "device/host_segment_pool.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <utility>

#include "base/thread_priority.hpp"

namespace ob {
namespace {

// The cleaner checks between two pieces whether the memory is wanted: about every millisecond.
constexpr std::uint64_t kPieceBytes = 4 << 20;

// The cleaner yields to computing threads, but not completely, since it holds the pool's lock at
// times.
void be_modest() noexcept {
  constexpr int kNice = 10;
  set_thread_nice(kNice);
  (void)::pthread_setname_np(::pthread_self(), "ob-clean");
}

}  // namespace

HostSegmentPool::~HostSegmentPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    stop_cleaning_ = true;
  }
  changed_.notify_all();
  if (cleaner_.joinable()) cleaner_.join();
}

std::shared_ptr<HostSegment> HostSegmentPool::take(std::uint64_t size_bytes, const Account& owner) {
  const std::uint64_t segment_bytes = HostSegment::bytes_for(size_bytes);
  if (segment_bytes < kLeastBytes || limits_.capacity_bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  ++use_.asked;
  const auto at = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) {
    return idle.clean && idle.segment->size_bytes() == segment_bytes &&
           idle.segment->may_serve(owner);
  });
  if (at == idle_.end()) return nullptr;
  ++use_.reused;
  use_.idle_bytes -= segment_bytes;
  std::shared_ptr<HostSegment> segment = std::move(at->segment);
  idle_.erase(at);
  return segment;
}

HostSegmentPool::Segments HostSegmentPool::put(HostBuffer buffer,
                                               std::uint64_t room_bytes) noexcept {
  const std::uint64_t bytes = buffer.segment()->size_bytes();
  const std::uint64_t limit = std::min(room_bytes, limits_.capacity_bytes);
  if (bytes < kLeastBytes || bytes > limit) return {};
  const std::lock_guard lock(mutex_);
  try {
    buffer.segment()->hold(nullptr);
    if (!cleaner_.joinable()) cleaner_ = std::thread([this] { keep_clean(); });
    idle_.push_front({buffer.segment(), buffer.size_bytes(), Clock::now()});
  } catch (const std::exception&) {
    return {};
  }
  use_.idle_bytes += bytes;
  changed_.notify_all();
  return drop_down_to(limit);
}

HostSegmentPool::Segments HostSegmentPool::shrink_to(std::uint64_t idle_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  return drop_down_to(idle_bytes);
}

HostSegmentPool::Use HostSegmentPool::use() const {
  const std::lock_guard lock(mutex_);
  Use now = use_;
  for (const Idle& idle : idle_) now.clean_bytes += idle.clean ? idle.segment->size_bytes() : 0;
  return now;
}

void HostSegmentPool::forget_last(Segments& gone) noexcept {
  use_.idle_bytes -= idle_.back().segment->size_bytes();
  gone.splice(gone.begin(), idle_, std::prev(idle_.end()));
}

HostSegmentPool::Segments HostSegmentPool::drop_down_to(std::uint64_t idle_bytes) noexcept {
  Segments gone;
  while (!idle_.empty() && (use_.idle_bytes > idle_bytes || idle_.size() > limits_.most_idle)) {
    forget_last(gone);
  }
  if (use_.idle_bytes > idle_bytes)
    stop_cleaning_ = true;  // the cleaner frees its segment after the current piece
  return gone;
}

HostSegmentPool::Segments HostSegmentPool::drop_older_than(Clock::time_point time) noexcept {
  Segments gone;
  while (!idle_.empty() && idle_.back().since < time) forget_last(gone);
  return gone;
}

// The cleaner's thread: cleans the segment that was put last first, and frees segments that
// stayed idle for long.
void HostSegmentPool::keep_clean() noexcept {
  be_modest();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    Segments gone = drop_older_than(Clock::now() - limits_.longest_idle);
    Segments cleaning;
    const auto dirty =
        std::find_if(idle_.begin(), idle_.end(), [](const Idle& idle) { return !idle.clean; });
    if (dirty != idle_.end()) cleaning.splice(cleaning.begin(), idle_, dirty);
    if (gone.empty() && cleaning.empty()) {
      if (idle_.empty()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, idle_.back().since + limits_.longest_idle);
      }
      continue;
    }
    stop_cleaning_ = false;
    lock.unlock();
    gone.clear();
    if (!cleaning.empty()) {
      Idle& idle = cleaning.front();
      const std::uint64_t bytes = idle.segment->size_bytes();
      try {
        idle.segment = cleaned(idle);
      } catch (const std::exception&) {  // out of memory
        idle.segment.reset();
      }
      idle.clean = idle.segment != nullptr;
      lock.lock();
      take_back(cleaning, bytes);
    } else {
      lock.lock();
    }
  }
}

// Inserts a cleaned segment at its place by time, if there is one.
void HostSegmentPool::take_back(Segments& one, std::uint64_t size_bytes) noexcept {
  const Idle& idle = one.front();
  if (!idle.clean || stop_cleaning_) {
    use_.idle_bytes -= size_bytes;
    return;
  }
  const auto older = std::find_if(idle_.begin(), idle_.end(),
                                  [&](const Idle& other) { return other.since <= idle.since; });
  idle_.splice(older, one);
}

// Cleans or replaces a segment; nullptr if its memory is wanted, or memory for another is lacking.
std::shared_ptr<HostSegment> HostSegmentPool::cleaned(Idle& idle) const {
  std::shared_ptr<HostSegment> segment = std::move(idle.segment);
  const bool fresh = segment->exported();
  if (fresh) {
    const std::uint64_t segment_bytes = segment->size_bytes();
    segment.reset();
    auto made = HostSegment::create(segment_bytes);
    if (!made.ok()) return nullptr;
    segment = std::move(made).value();
  }
  for (std::uint64_t done = 0; done < idle.touched_bytes; done += kPieceBytes) {
    if (stop_cleaning_) return nullptr;
    const std::uint64_t count = std::min(kPieceBytes, idle.touched_bytes - done);
    if (fresh) {
      (void)::madvise(segment->data() + done, count, MADV_POPULATE_WRITE);  // Linux 5.14
    } else {
      std::memset(segment->data() + done, 0, count);
    }
  }
  return segment;
}

}  // namespace ob
