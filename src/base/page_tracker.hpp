#pragma once
// Tracking of written pages. The kernel tells which memory of this process was written since it was
// last read, so that unwritten memory need not be read again.
//
// The kernel does not see writes through pinned pages (RDMA, DMA of a GPU, registered buffers,
// direct I/O under way) nor through a second mapping. The tracker is only for memory that the user
// declares free of such writes: see docs/decisions/0010-kernel-page-tracking.md.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/address_range.hpp"
#include "base/detail/epoch_map.hpp"
#include "base/detail/write_watch.hpp"

namespace ob {

/// Tracks private anonymous memory; all other memory, and every page that the kernel cannot answer
/// for, counts as written. Each engine has a tracker of its own. All users of one tracker see the
/// same writes, whoever armed the pages.
/// Threads: any; in a forked child everything counts as written, and it needs its own tracker
class PageTracker {
 public:
  /// The time of an arm(); 0: never.
  using Epoch = std::uint64_t;

  /// The result of a look().   Threads: owner only
  class View {
   public:
    /// True if nobody wrote the range between the arm() that returned `since` and the look.
    bool unwritten(AddressRange range, Epoch since) const noexcept;

   private:
    friend class PageTracker;
    struct Run {
      AddressRange range;
      Epoch armed;
    };
    std::vector<Run> runs_;  // in order, without overlap
  };

  PageTracker() = default;
  ~PageTracker();
  PageTracker(const PageTracker&) = delete;
  PageTracker& operator=(const PageTracker&) = delete;

  /// False if the kernel lacks the interfaces or this process may not use them; why_not() names the
  /// reason.
  bool available();
  std::string why_not() const;

  /// Starts to track writes to all pages that the ranges touch. Bytes read after this call are
  /// current as long as a look() finds them unwritten since the returned epoch. Returns 0 if
  /// nothing was armed. Ranges of other kinds of memory are skipped silently.
  /// Cost: some us and a search in /proc/self/maps; about 1 us for the next write to each page
  Epoch arm(std::span<const AddressRange> ranges);
  /// Finds the unwritten pages.
  /// Cost: some us, and about 1 ms for a GiB of small pages
  View look(AddressRange range);

  /// Closes the parent's descriptors in a forked child.
  /// Threads: the child's only one; async-signal-safe
  void close_inherited() noexcept;

 private:
  detail::WriteWatch* current();
  detail::WriteWatch* opened();
  bool arm_one(detail::WriteWatch& watch, AddressRange range, Epoch now);
  void find_gaps(const detail::WriteWatch& watch, AddressRange range);
  bool protect_gaps(detail::WriteWatch& watch);
  bool inherited() const noexcept;

  mutable std::mutex mutex_;
  std::atomic<detail::WriteWatch*> watch_{nullptr};  // owned
  int openings_ = 0;
  std::string why_not_;
  Epoch epoch_ = 0;
  detail::EpochMap armed_;  // pages that were armed and not found written since
  bool mappings_read_ = false;
  std::vector<AddressRange> runs_;
  std::vector<AddressRange> gaps_;
  std::vector<AddressRange> fresh_;
};

}  // namespace ob
