#pragma once
// Small buffers, which share segments so that they do not take a file descriptor each.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "device/account.hpp"
#include "device/host_buffer.hpp"
#include "device/segment_budget.hpp"

namespace ob {

/// Places small buffers in shared segments. A segment has places of one size, a power of two of
/// pages, for buffers of one session: a client that maps a segment sees all of it. The memory of a
/// freed buffer returns to the system at once, so that the next one is zero and memory counts page
/// by page. If another process has mapped the segment, the memory keeps its contents until the
/// place is used again, or the segment has no buffers: a client may still read its last results.
///
/// A client gets only one shared segment for each size, of kFirstSegmentBytes, because it can fill
/// all of it. If a client maps all its buffers, the next ones get segments of their own.
/// Threads: any
class SmallBuffers {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;
  /// The first shared segment for a session and size, and later ones.
  static constexpr std::uint64_t kFirstSegmentBytes = 256 << 10;
  static constexpr std::uint64_t kSegmentBytes = 1 << 20;

  explicit SmallBuffers(std::shared_ptr<SegmentBudget> budget) : budget_(std::move(budget)) {}

  /// Makes a zero buffer, aligned to pages.
  /// Errors: out_of_memory, also if the owner holds its share of segments
  /// @pre size_bytes <= kFirstSegmentBytes
  Result<HostBuffer> make(const Account& owner, std::uint64_t size_bytes);
  /// Frees a buffer that make() made.
  void give_back(const HostBuffer& buffer) noexcept;
  /// Notes that another process gets the segment of the buffer, which make() made. Returns false if
  /// it must not.
  bool export_segment(const HostBuffer& buffer) noexcept;

 private:
  using Key = std::tuple<UserId, SessionId, std::uint64_t>;  // the last one: bytes of a place
  struct Shared {
    Key key;
    std::shared_ptr<HostSegment> segment;
    std::vector<std::uint64_t> free_pages;  // where free places begin; the next one is last
    std::uint64_t places = 0;
  };
  using SharedList = std::list<Shared>;
  struct Group {
    SharedList segments;                    // those with free places first
    const HostSegment* exported = nullptr;  // the shared one
    std::uint64_t made = 0;                 // buffers
    std::uint64_t located = 0;              // calls of export_segment() for them
  };

  std::uint64_t next_segment_bytes(const Key& key, std::uint64_t size_bytes) const;
  Result<SharedList> create(const Key& key, const Account& owner, std::uint64_t segment_bytes);
  Shared* with_place(const Key& key);
  Shared& add(SharedList& one);
  HostBuffer place_in(Shared& shared, std::uint64_t size_bytes);
  void remove(SharedList::iterator shared, SharedList& gone) noexcept;

  const std::shared_ptr<SegmentBudget> budget_;
  std::mutex mutex_;  // guards all below
  std::map<Key, Group> groups_;
  std::unordered_map<const HostSegment*, SharedList::iterator> shared_;
  SharedList spare_;  // at most one segment, without buffers
};

}  // namespace ob
