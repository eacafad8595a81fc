#include "base/page_tracker.hpp"

#include <algorithm>

namespace ob {
namespace {

// A program that becomes a daemon closes all descriptors once or twice.
constexpr int kMostOpenings = 8;
// Pages behind this many runs count as written: for memory that is written all over, the query
// costs more than it saves.
constexpr std::size_t kMostRuns = 256;
// The map takes about 5 MB at this size. Beyond it the map is cleared: everything counts as
// written.
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

// --- the kernel's watch --------------------------------------------------------------------------

PageTracker::~PageTracker() { delete watch_.load(); }

bool PageTracker::inherited() const noexcept {
  const detail::WriteWatch* const watch = watch_.load(std::memory_order_acquire);
  return watch != nullptr && watch->inherited();
}

void PageTracker::close_inherited() noexcept {
  detail::WriteWatch* const watch = watch_.load(std::memory_order_acquire);
  if (watch != nullptr) watch->close_inherited();
}

// Returns the watch if its descriptors are still open.
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

// Finds the pages that must be protected again: those that the kernel reports as written, and those
// that are not in armed_. The protection of the latter may be a remnant that lets writes pass:
// Linux 6.18 leaves one in a mapping that mremap() enlarged by another watched one, without the
// watch.
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

// The gaps leave the map before they are protected: if protection fails halfway, they are unknown
// rather than unwritten.
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
  } catch (...) {  // out of memory: the map may differ from the protection
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
    // Protection by another watch proves nothing: its owner may set it again after a write.
    if (!watch->owns(run)) {
      armed_.erase(run);
      continue;
    }
    armed_.visit(run, [&](AddressRange part, Epoch armed) { view.runs_.push_back({part, armed}); });
  }
  return view;
}

}  // namespace ob
