#include "algorithms/residency/residency.hpp"

#include <algorithm>
#include <utility>

#include "base/chunks.hpp"
#include "base/host_scratch.hpp"
#include "base/readable_memory.hpp"

namespace ob::algorithms {
namespace {

// This is more copies than a program has operands. A search compares with all of them.
constexpr std::size_t kMostCopies = 128;
// If this many chunks differ and none is equal, the rest is sent without a comparison.
constexpr std::uint64_t kHopeless = 2;
// The most doublings of the number of comparisons that are skipped after one that found no equal
// chunk.
constexpr unsigned kMostPatience = 6;

Region shape_of(Region region) noexcept {
  region.triangle = Triangle::full;
  return region;
}

bool covers(Triangle valid, Triangle wanted) noexcept {
  if (valid == Triangle::full || valid == wanted) return true;
  return (valid == Triangle::upper && wanted == Triangle::upper_strict) ||
         (valid == Triangle::lower && wanted == Triangle::lower_strict);
}

}  // namespace

std::uint64_t Residency::expected_bytes(const std::byte* begin,
                                        const std::byte* end) const noexcept {
  std::uint64_t found = 0;
  for (const Copy& copy : copies_) {
    const bool inside = copy.data >= begin && copy.data < end;
    if (inside && copy.defined && copy.mismatches == 0) found += copy.bytes;
  }
  return found;
}

// --- the calls -----------------------------------------------------------------------------------

Residency::Call::~Call() {
  for (const Use& use : uses_) {
    try {
      (void)residency_.forget(use.copy);
    } catch (...) {  // no memory for the request: the device frees all buffers with the connection
    }
  }
}

Result<std::optional<Residency::Placement>> Residency::Call::place(QueueId queue,
                                                                   const PlacedOperand& operand) {
  using Nowhere = std::optional<Placement>;
  if (!residency_.is_cached(operand)) return Nowhere();
  const bool changes = operand.written || operand.consumed;
  Placement placement;
  Place at = residency_.find(operand);
  if (at != residency_.copies_.end() && at->used) {
    // Two operands lie in one place. They share the copy only if neither of them changes it.
    const bool looks = operand.read && !changes && !at->changes;
    if (!looks || !covers(at->current, operand.there.triangle)) return Nowhere();
    placement.buffer = at->buffer;
    placement.kept_bytes = packed_bytes(operand.there);
    return std::optional(placement);
  }
  if (at == residency_.copies_.end()) {
    OB_ASSIGN_OR_RETURN(const std::optional<Place> made, residency_.make(operand));
    if (!made) return Nowhere();
    at = *made;
  }
  uses_.push_back({at, operand.written, operand.consumed, operand.written_triangle});
  at->used = true;
  at->changes = changes;
  at->current = operand.there.triangle;
  if (operand.read) OB_RETURN_IF_ERROR(residency_.update(queue, operand, *at, placement));
  if (changes) at->stale_labels = true;
  placement.buffer = at->buffer;
  return std::optional(placement);
}

void Residency::Call::succeeded() {
  for (const Use& use : uses_) {
    Copy& copy = *use.copy;
    copy.used = false;
    if (use.written || use.consumed) {
      copy.defined = use.written;
      copy.valid = use.written_triangle;
    }
    residency_.copies_.splice(residency_.copies_.begin(), residency_.copies_, use.copy);
  }
  uses_.clear();
}

// --- the copies ----------------------------------------------------------------------------------

bool Residency::is_cached(const PlacedOperand& operand) const noexcept {
  return keeps_operands() && packed_bytes(operand.there) >= config_.least_bytes;
}

Residency::Place Residency::find(const PlacedOperand& operand) {
  const Region home = shape_of(operand.home);
  const Region there = shape_of(operand.there);
  return std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) {
    return copy.data == operand.data && copy.home == home && copy.there == there;
  });
}

Result<std::optional<Residency::Place>> Residency::make(const PlacedOperand& operand) {
  const std::uint64_t bytes = std::max<std::uint64_t>(extent_bytes(operand.there), 8);
  if (bytes > capacity_bytes_) return std::optional<Place>();
  OB_RETURN_IF_ERROR(evict(capacity_bytes_ - bytes, kMostCopies - 1));
  if (resident_bytes_ + bytes > capacity_bytes_ || copies_.size() >= kMostCopies) {
    return std::optional<Place>();  // this call uses all remaining copies
  }
  auto buffer = device_.allocate(bytes);
  if (!buffer.ok() && buffer.status().code() == Code::out_of_memory) {
    OB_RETURN_IF_ERROR(release());
    buffer = device_.allocate(bytes);
  }
  if (!buffer.ok()) return buffer.status();
  Copy copy;
  copy.data = operand.data;
  copy.home = shape_of(operand.home);
  copy.there = shape_of(operand.there);
  copy.buffer = *buffer;
  copy.bytes = bytes;
  copies_.push_front(std::move(copy));
  resident_bytes_ += bytes;
  return std::optional(copies_.begin());
}

Status Residency::forget(Place place) {
  const BufferId buffer = place->buffer;
  resident_bytes_ -= place->bytes;
  copies_.erase(place);
  return device_.free(buffer);
}

Status Residency::evict(std::uint64_t down_to_bytes, std::size_t down_to_copies) {
  for (auto at = copies_.end(); at != copies_.begin();) {
    if (resident_bytes_ <= down_to_bytes && copies_.size() <= down_to_copies) return {};
    const Place last = --at;
    if (last->used) continue;
    ++at;
    OB_RETURN_IF_ERROR(forget(last));
  }
  return {};
}

Status Residency::release() { return evict(0, 0); }

Status Residency::keep_at_most(std::uint64_t bytes) {
  capacity_bytes_ = std::min(config_.capacity_bytes, bytes);
  return evict(capacity_bytes_, kMostCopies);
}

Status Residency::make_room(std::uint64_t needed_bytes) {
  const std::uint64_t memory_bytes = device_.info().memory_bytes;
  return evict(memory_bytes - std::min(memory_bytes, needed_bytes), kMostCopies);
}

// --- transfers -----------------------------------------------------------------------------------

Status Residency::update(QueueId queue, const PlacedOperand& operand, Copy& copy,
                         Placement& placement) {
  const Triangle wanted = operand.there.triangle;
  const bool comparable = copy.defined && covers(copy.valid, wanted);
  if (!comparable || copy.looks_to_skip > 0) {
    if (comparable) --copy.looks_to_skip;
    return send_all(queue, operand, copy, placement);
  }
  if (copy.labelled != wanted) copy.stale_labels = true;
  const Status status = send_differing(queue, operand, copy, placement);
  if (status.code() == Code::unsupported) {
    can_look_ = false;
    return send_all(queue, operand, copy, placement);
  }
  OB_RETURN_IF_ERROR(status);
  // An array that the program fills again for every call is compared more and more rarely.
  copy.mismatches = placement.kept_bytes > 0 ? 0 : std::min(copy.mismatches + 1, kMostPatience);
  copy.looks_to_skip = copy.mismatches > 0 ? (1U << copy.mismatches) - 1 : 0;
  return {};
}

Status Residency::send_all(QueueId queue, const PlacedOperand& operand, Copy& copy,
                           Placement& placement) {
  const Layout home = Layout::matrix(operand.data, operand.home);
  OB_RETURN_IF_ERROR(device_.write(queue, copy.buffer, operand.there, home));
  copy.brought = 0;
  copy.defined = true;
  copy.valid = operand.there.triangle;
  copy.stale_labels = true;
  placement.sent_bytes += home.total_bytes();
  return {};
}

// Lets the device take digests of its copy, and takes the digests of the operand at the same time.
QueueReport Residency::label(QueueId queue, const PlacedOperand& operand, Copy& copy,
                             bool reads_home) {
  const Region& there = operand.there;
  const Chunks chunks(operand.home, config_.chunk_bytes);
  copy.labels.assign(chunks.count(), {});
  copy.labelled = there.triangle;
  copy.stale_labels = true;  // until the digests have arrived
  const Status asked = device_.digest(queue, copy.buffer, there, config_.chunk_bytes, copy.labels);
  if (asked.ok() &&
      reads_home) {  // nothing may throw while the device may still write to copy.labels
    for (std::uint64_t i = 0; i < chunks.count(); ++i) (void)copy.host.at(i);
  }
  QueueReport report = device_.synchronize(queue);
  if (!asked.ok()) report.status = asked;
  copy.stale_labels = !report.status.ok();
  return report;
}

// The chunk is packed, as both sides cut their parts alike.
Status Residency::send_chunk(QueueId queue, const PlacedOperand& operand, Copy& copy) {
  const ChunkParts from = Chunks(operand.home, config_.chunk_bytes).at(copy.brought);
  const ChunkParts to = Chunks(operand.there, config_.chunk_bytes).at(copy.brought);
  for (int p = 0; p < from.count; ++p) {
    const auto at = static_cast<std::size_t>(p);
    const Layout home = Layout::matrix(operand.data, from.items[at]);
    const HostScratch scratch(home.total_bytes());
    const std::span<std::byte> packed{scratch.data(), home.total_bytes()};
    if (packed.data() == nullptr) return {Code::out_of_memory, "no memory on this side"};
    if (!copy_if_readable(packed, home)) {
      return {Code::invalid_argument, "an operand cannot be read any more"};
    }
    const Status sent = device_.write(queue, copy.buffer, to.items[at],
                                      Layout::bytes(packed.data(), packed.size()));
    // The scratch memory must outlive the command.
    const QueueReport report = device_.synchronize(queue);
    OB_RETURN_IF_ERROR(sent);
    OB_RETURN_IF_ERROR(report.status);
  }
  ++copy.brought;
  return {};
}

Result<bool> Residency::bring(QueueId queue, const PlacedOperand& operand) {
  if (!is_cached(operand)) return true;
  Place at = find(operand);
  if (at == copies_.end()) {
    OB_ASSIGN_OR_RETURN(const std::optional<Place> made, make(operand));
    if (!made) return true;
    at = *made;
  }
  const Triangle wanted = operand.there.triangle;
  if (at->defined && covers(at->valid, wanted)) return true;
  if (at->brought > 0 && at->valid != wanted) at->brought = 0;
  at->defined = false;
  at->valid = wanted;
  if (const Status sent = send_chunk(queue, operand, *at); !sent.ok()) {
    (void)forget(at);
    return sent;
  }
  if (at->brought < Chunks(operand.home, config_.chunk_bytes).count()) return false;
  at->brought = 0;
  at->defined = true;
  at->stale_labels = true;
  if (const Status labelled = label(queue, operand, *at, false).status; !labelled.ok()) {
    (void)forget(at);
    if (labelled.code() != Code::unsupported) return labelled;
    can_look_ = false;
  }
  return true;
}

Status Residency::send_differing(QueueId queue, const PlacedOperand& operand, Copy& copy,
                                 Placement& placement) {
  copy.host.look(config_.tracking, operand.data, operand.home, config_.chunk_bytes,
                 !operand.written && !operand.consumed);
  if (copy.stale_labels) {
    const QueueReport report = label(queue, operand, copy, true);
    placement.compute_ns += report.compute_ns;
    placement.waited_ns += report.waited_ns;
    OB_RETURN_IF_ERROR(report.status);
  }
  const Chunks home(operand.home, config_.chunk_bytes);
  const Chunks there(operand.there, config_.chunk_bytes);
  std::uint64_t differing = 0;
  for (std::uint64_t i = 0; i < home.count(); ++i) {
    const ChunkParts from = home.at(i);
    const ChunkParts to = there.at(i);
    std::uint64_t bytes = 0;
    for (const Region& part : from.span()) bytes += packed_bytes(part);
    const bool hopeless = differing >= kHopeless && placement.kept_bytes == 0;
    if (copy.host.known(i) || !hopeless) {
      const bool equal = copy.host.at(i) == copy.labels[i];
      copy.host.compared(i, equal);
      if (equal) {
        placement.kept_bytes += bytes;
        placement.unread_bytes += copy.host.unread(i) ? bytes : 0;
        continue;
      }
    }
    ++differing;
    copy.stale_labels = true;
    placement.sent_bytes += bytes;
    for (int p = 0; p < from.count; ++p) {
      const auto at = static_cast<std::size_t>(p);
      OB_RETURN_IF_ERROR(device_.write(queue, copy.buffer, to.items[at],
                                       Layout::matrix(operand.data, from.items[at])));
    }
  }
  return {};
}

}  // namespace ob::algorithms
