#pragma once
// Digests of an operand in host memory, chunk by chunk. A digest is taken again only if its chunk
// may have changed.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/digest.hpp"
#include "base/layout.hpp"
#include "base/page_tracker.hpp"

namespace ob::algorithms {

/// The configuration of page tracking: whether pages are tracked, and for which operands.
/// Source: docs/decisions/0010-kernel-page-tracking.md
struct PageTracking {
  PageTracker* tracker = nullptr;          ///< nullptr: every digest is taken each time
  std::uint64_t least_bytes = 4ULL << 20;  ///< smaller operands are digested each time
  /// The number of consecutive checks that must find a chunk unchanged before its pages are armed.
  /// It doubles each time that an armed chunk is written: the first write to an armed page takes as
  /// long as 3 to 10 digests of it.
  unsigned quiet_looks = 3;
};

/// Holds the digests of one operand from call to call.   Threads: owner only
class OperandDigests {
 public:
  /// Begins a check of the operand in its present state.
  /// @param stays the call does not write the operand, as far as is known
  void look(const PageTracking& tracking, const std::byte* data, const Region& home,
            std::uint64_t chunk_bytes, bool stays);
  /// Returns the digest of a chunk for its contents at some time since look(). Never throws.
  /// Cost: a digest of the chunk, unless it is known()
  const Digest& at(std::uint64_t chunk) noexcept;
  /// True if at() reads nothing.
  bool known(std::uint64_t chunk) const noexcept { return seen_[chunk].current; }
  /// True if this check found the chunk's pages unwritten and did not read the chunk.
  bool unread(std::uint64_t chunk) const noexcept { return seen_[chunk].unread; }
  /// Reports whether the chunk is equal to the copy on the device.
  void compared(std::uint64_t chunk, bool equal) noexcept;

 private:
  struct Seen {
    Digest digest;
    PageTracker::Epoch since = 0;  // digest is valid unless a page was written since; 0: unknown
    PageTracker::Epoch armed = 0;  // set in this check, before any digest was taken
    unsigned quiet = 0;            // consecutive checks that found the chunk unchanged
    unsigned in_vain = 0;          // consecutive times that it was armed and then written
    bool current = false;          // digest was taken or confirmed in this check
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
  unsigned pause_ = 0;          // checks without arming after a failed attempt to arm
  unsigned looks_to_skip_ = 0;  // the rest of these checks
};

}  // namespace ob::algorithms
