#include "device/small_buffers.hpp"

#include <algorithm>
#include <bit>

namespace ob {
namespace {

std::uint64_t pages_of(std::uint64_t size_bytes) noexcept {
  return std::max<std::uint64_t>(
      1, (size_bytes + SmallBuffers::kPageBytes - 1) / SmallBuffers::kPageBytes);
}

std::uint64_t place_bytes_of(std::uint64_t size_bytes) noexcept {
  return std::bit_ceil(pages_of(size_bytes)) * SmallBuffers::kPageBytes;
}

// A client that maps all its buffers asks for the place of each one before it makes the next. Its
// threads may have a few more on the way.
constexpr std::uint64_t kMostOnTheWay = 16;

}  // namespace

Result<HostBuffer> SmallBuffers::make(const Account& owner, std::uint64_t size_bytes) {
  const Key key{owner.user, owner.session, place_bytes_of(size_bytes)};
  std::uint64_t segment_bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (Shared* const shared = with_place(key)) return place_in(*shared, size_bytes);
    segment_bytes = next_segment_bytes(key, size_bytes);
  }
  OB_ASSIGN_OR_RETURN(SharedList made, create(key, owner, segment_bytes));
  const std::lock_guard lock(mutex_);
  return place_in(add(made), size_bytes);
}

// @pre mutex_ is held
std::uint64_t SmallBuffers::next_segment_bytes(const Key& key, std::uint64_t size_bytes) const {
  const auto at = groups_.find(key);
  if (at == groups_.end() || at->second.segments.empty()) return kFirstSegmentBytes;
  const Group& group = at->second;
  if (group.made > group.located + kMostOnTheWay) return kSegmentBytes;
  return group.exported == nullptr ? kFirstSegmentBytes : HostSegment::bytes_for(size_bytes);
}

// Finds a segment with a free place; nullptr if there is none.   @pre mutex_ is held
SmallBuffers::Shared* SmallBuffers::with_place(const Key& key) {
  const auto group = groups_.find(key);
  if (group == groups_.end() || group->second.segments.empty()) {
    const bool fits = !spare_.empty() && spare_.front().key == key;
    return fits ? &add(spare_) : nullptr;
  }
  if (group->second.exported != nullptr) {  // clients can map its places
    Shared& exported = *shared_.find(group->second.exported)->second;
    if (!exported.free_pages.empty()) return &exported;
  }
  Shared& first = group->second.segments.front();
  return first.free_pages.empty() ? nullptr : &first;
}

Result<SmallBuffers::SharedList> SmallBuffers::create(const Key& key, const Account& owner,
                                                      std::uint64_t segment_bytes) {
  OB_ASSIGN_OR_RETURN(auto segment, budget_->create(owner, segment_bytes));
  const std::uint64_t place_bytes = std::get<2>(key);
  // A segment for one buffer may be shorter than a place.
  const std::uint64_t places = std::max<std::uint64_t>(1, segment_bytes / place_bytes);
  Shared shared{key, std::move(segment), {}, places};
  shared.free_pages.reserve(places);  // so that give_back() needs no memory
  for (std::uint64_t i = places; i > 0; --i) {
    shared.free_pages.push_back((i - 1) * (place_bytes / kPageBytes));
  }
  SharedList made;
  made.push_back(std::move(shared));
  return made;
}

// Moves the only segment of the list to its group.   @pre mutex_ is held
SmallBuffers::Shared& SmallBuffers::add(SharedList& one) {
  const auto shared = one.begin();
  SharedList& segments = groups_[shared->key].segments;
  shared_.emplace(shared->segment.get(), shared);
  segments.splice(segments.begin(), one);
  return *shared;
}

// @pre mutex_ is held, and the segment has a free place
HostBuffer SmallBuffers::place_in(Shared& shared, std::uint64_t size_bytes) {
  HostBuffer buffer(shared.segment, shared.free_pages.back() * kPageBytes, size_bytes);
  shared.free_pages.pop_back();
  if (shared.places > 1 && shared.segment->exported()) {
    shared.segment->drop(buffer.offset_bytes(), std::get<2>(shared.key));
  }
  Group& group = groups_.find(shared.key)->second;
  ++group.made;
  if (shared.free_pages.empty()) {  // full segments stand last
    const auto at = shared_.find(shared.segment.get())->second;
    group.segments.splice(group.segments.end(), group.segments, at);
  }
  return buffer;
}

void SmallBuffers::give_back(const HostBuffer& buffer) noexcept {
  SharedList::iterator shared;
  {
    const std::lock_guard lock(mutex_);
    shared = shared_.find(buffer.segment().get())->second;
  }
  // The lock is not needed: the place keeps its segment until it is free. A client that has mapped
  // the segment may still read results there, for instance when its session ends after its last
  // answer: its place is cleared when it is used again.
  if (shared->places > 1 && !shared->segment->exported()) {
    shared->segment->drop(buffer.offset_bytes(), std::get<2>(shared->key));
  }
  SharedList gone;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  shared->free_pages.push_back(buffer.offset_bytes() / kPageBytes);
  if (shared->free_pages.size() == shared->places) {
    remove(shared, gone);
  } else if (shared->free_pages.size() == 1) {
    SharedList& segments = groups_.find(shared->key)->second.segments;
    segments.splice(segments.begin(), segments, shared);
  }
}

// Removes a segment without buffers. A shared one that no other process has becomes the spare one.
// @pre mutex_ is held
void SmallBuffers::remove(SharedList::iterator shared, SharedList& gone) noexcept {
  const HostSegment* const segment = shared->segment.get();
  const auto group = groups_.find(shared->key);
  shared_.erase(segment);
  if (group->second.exported == segment) group->second.exported = nullptr;
  const bool keep = shared->places > 1 && !segment->exported();
  if (keep) gone.splice(gone.end(), spare_);
  SharedList& to = keep ? spare_ : gone;
  to.splice(to.end(), group->second.segments, shared);
  if (group->second.segments.empty()) groups_.erase(group);
}

bool SmallBuffers::export_segment(const HostBuffer& buffer) noexcept {
  const std::lock_guard lock(mutex_);
  HostSegment* const segment = buffer.segment().get();
  const Shared& shared = *shared_.find(segment)->second;
  Group& group = groups_.find(shared.key)->second;
  if (shared.places > 1 && segment != group.exported) {
    if (group.exported != nullptr || segment->size_bytes() != kFirstSegmentBytes) return false;
    group.exported = segment;
  }
  ++group.located;
  segment->mark_exported();
  return true;
}

}  // namespace ob
