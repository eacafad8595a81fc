#pragma once
// Digests of an operand in the program's memory, chunk by chunk; taken again only where they may
// have changed.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/digest.hpp"
#include "base/layout.hpp"
#include "base/page_tracker.hpp"

namespace ob::algorithms {

/// Whether pages are tracked, and when it pays. docs/decisions/0010-kernel-page-tracking.md
struct PageTracking {
  PageTracker* tracker = nullptr;          ///< nullptr: every digest is taken each time
  std::uint64_t least_bytes = 4ULL << 20;  ///< smaller operands are digested each time
  /// Looks in a row that found a chunk unchanged before its pages are armed. Doubles with each time
  /// that this was in vain: the first write to an armed page takes as long as 3 to 10 digests of
  /// it.
  unsigned quiet_looks = 3;
};

/// Of one operand, from call to call.   Threads: owner only
class OperandDigests {
 public:
  /// Begins a look at the operand as it is now.
  /// @param stays the call will not write the operand, as far as is known
  void look(const PageTracking& tracking, const std::byte* data, const Region& home,
            std::uint64_t chunk_bytes, bool stays);
  /// The digest of a chunk as memory held it at some time since look().   Never throws
  /// Cost: a digest of the chunk, unless it is known()
  const Digest& at(std::uint64_t chunk) noexcept;
  /// True if at() reads nothing.
  bool known(std::uint64_t chunk) const noexcept { return seen_[chunk].current; }
  /// True if this look found the chunk's pages unwritten and read nothing of it.
  bool unread(std::uint64_t chunk) const noexcept { return seen_[chunk].unread; }
  /// The chunk is what the device had, or not.
  void compared(std::uint64_t chunk, bool equal) noexcept;

 private:
  struct Seen {
    Digest digest;
    PageTracker::Epoch since = 0;  // digest holds unless a page was written since; 0: unknown
    PageTracker::Epoch armed = 0;  // in this look, before any digest was taken
    unsigned quiet = 0;            // looks in a row that found the chunk unchanged
    unsigned in_vain = 0;          // times in a row that it was armed and then written
    bool current = false;          // digest is of this look
    bool unread = false;
  };

  void recall(PageTracker& tracker);
  static bool is_quiet(const PageTracking& tracking, const Seen& seen) noexcept;
  void arm(const PageTracking& tracking);
  AddressRange range_of(std::uint64_t chunk) const noexcept;

  const std::byte* data_ = nullptr;
  Region home_;
  std::uint64_t chunk_bytes_ = 0;
  std::vector<Seen> seen_;
  unsigned pause_ = 0;          // looks without arming after one that could not arm anything
  unsigned looks_to_skip_ = 0;  // of these, still to come
};

}  // namespace ob::algorithms
