#include "base/page_tracker.hpp"

#include <algorithm>

namespace ob {
namespace {

// A program that closes all descriptors does so once or twice, when it becomes a daemon.
constexpr int kMostOpenings = 8;
// What lies behind so many runs counts as written: memory that is written all over is not worth
// asking about.
constexpr std::size_t kMostRuns = 256;
// About 5 MB of the tracker's own; beyond, everything counts as written once.
constexpr std::size_t kMostParts = 1U << 16;

AddressRange whole_pages(AddressRange range, std::uintptr_t page_bytes) noexcept {
  const std::uintptr_t last = page_bytes - 1;
  return {range.begin & ~last, (range.end + last) & ~last};
}

}  // namespace

bool PageTracker::View::unwritten(AddressRange range, Epoch since) const noexcept {
  auto at = std::partition_point(runs_.begin(), runs_.end(),
                                 [&](const Run& run) { return run.range.end <= range.begin; });
  std::uintptr_t covered = range.begin;
  for (; covered < range.end; ++at) {
    if (at == runs_.end() || at->range.begin > covered || at->armed > since) return false;
    covered = at->range.end;
  }
  return true;
}

// --- the kernel's side ---------------------------------------------------------------------------

PageTracker::~PageTracker() { delete watch_.load(); }

bool PageTracker::inherited() const noexcept {
  const detail::WriteWatch* const watch = watch_.load(std::memory_order_acquire);
  return watch != nullptr && watch->inherited();
}

void PageTracker::close_inherited() noexcept {
  detail::WriteWatch* const watch = watch_.load(std::memory_order_acquire);
  if (watch != nullptr) watch->close_inherited();
}

// The watch, if its descriptors are still there.
detail::WriteWatch* PageTracker::current() {
  detail::WriteWatch* const watch = watch_.load(std::memory_order_relaxed);
  if (watch == nullptr || watch->intact()) return watch;
  watch_.store(nullptr);
  delete watch;
  armed_.clear();
  return nullptr;
}

detail::WriteWatch* PageTracker::opened() {
  detail::WriteWatch* watch = current();
  if (watch != nullptr || openings_ >= kMostOpenings) return watch;
  ++openings_;
  auto fresh = detail::WriteWatch::open();
  if (!fresh.ok()) {
    why_not_ = fresh.status().message();
    openings_ = kMostOpenings;
    return nullptr;
  }
  watch = fresh->release();
  watch_.store(watch, std::memory_order_release);
  return watch;
}

bool PageTracker::available() {
  if (inherited()) return false;
  const std::lock_guard lock(mutex_);
  return opened() != nullptr;
}

std::string PageTracker::why_not() const {
  if (inherited()) return "it belongs to the parent process";
  const std::lock_guard lock(mutex_);
  return why_not_;
}

// --- arming and looking --------------------------------------------------------------------------

// What must be protected anew: pages that the kernel calls written, and pages of which nothing is
// known here. Their protection may be a remnant that lets writes pass: Linux 6.18 leaves it in a
// mapping that mremap() enlarged by another watched one, and takes the watch away.
void PageTracker::find_gaps(const detail::WriteWatch& watch, AddressRange range) {
  watch.unwritten(range, kMostRuns, runs_);
  gaps_.clear();
  std::uintptr_t at = range.begin;
  for (const AddressRange& run : runs_) {
    armed_.visit(run, [&](AddressRange part, Epoch) {
      if (part.begin > at) gaps_.push_back({at, part.begin});
      at = part.end;
    });
  }
  if (range.end > at) gaps_.push_back({at, range.end});
}

// They leave the map before they are protected: if this ends halfway, they are unknown and not
// unwritten.
bool PageTracker::protect_gaps(detail::WriteWatch& watch) {
  fresh_.clear();
  if (gaps_.empty()) return true;
  if (!mappings_read_ && !watch.read_mappings()) return false;
  mappings_read_ = true;
  for (const AddressRange& gap : gaps_) {
    armed_.erase(gap);
    if (!watch.protect(gap, fresh_)) return false;
  }
  return true;
}

bool PageTracker::arm_one(detail::WriteWatch& watch, AddressRange range, Epoch now) {
  find_gaps(watch, range);
  const bool armed = protect_gaps(watch);
  for (const AddressRange& mapping : fresh_) armed_.erase(mapping);
  if (!armed || !watch.owns(range)) {
    armed_.erase(range);
    return false;
  }
  for (const AddressRange& gap : gaps_) armed_.set(gap, now);
  return true;
}

PageTracker::Epoch PageTracker::arm(std::span<const AddressRange> ranges) {
  if (inherited()) return 0;
  const std::lock_guard lock(mutex_);
  detail::WriteWatch* const watch = opened();
  if (watch == nullptr) return 0;
  if (armed_.size() > kMostParts) armed_.clear();
  const Epoch now = ++epoch_;
  bool any = false;
  mappings_read_ = false;
  try {
    for (const AddressRange& range : ranges) {
      if (range.begin >= range.end) continue;
      any = arm_one(*watch, whole_pages(range, watch->page_bytes()), now) || any;
    }
  } catch (...) {  // no memory: what is known may not be what was protected
    armed_.clear();
    throw;
  }
  return any ? now : 0;
}

PageTracker::View PageTracker::look(AddressRange range) {
  View view;
  if (inherited()) return view;
  const std::lock_guard lock(mutex_);
  detail::WriteWatch* const watch = current();
  if (watch == nullptr || armed_.size() == 0) return view;
  watch->unwritten(whole_pages(range, watch->page_bytes()), kMostRuns, runs_);
  for (const AddressRange& run : runs_) {
    // Somebody else's protection says nothing: it may be set anew after a write.
    if (!watch->owns(run)) {
      armed_.erase(run);
      continue;
    }
    armed_.visit(run, [&](AddressRange part, Epoch armed) { view.runs_.push_back({part, armed}); });
  }
  return view;
}

}  // namespace ob
