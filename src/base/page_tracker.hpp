#pragma once
// Which memory of this process was written since it was last read, asked of the kernel, so that
// what nobody wrote need not be read again.
//
// The kernel does not see writes through pinned pages (RDMA, DMA of a GPU, registered buffers,
// direct I/O under way) nor through a second mapping: this is for memory of which the user vouches
// that it is not written so. docs/decisions/0010-kernel-page-tracking.md has the argument.

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

/// One per process: all of its users see the same writes, whoever armed the pages.
/// Private anonymous memory only; of any other, and wherever the kernel cannot say, everything
/// counts as written.
/// Threads: any. In a forked child nothing counts as unwritten for ever; it needs its own tracker
class PageTracker {
 public:
  /// When something was armed. 0: never
  using Epoch = std::uint64_t;

  /// What look() found.   Threads: owner only
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

  /// False if the kernel cannot, or does not let this process: why_not() says what lacks.
  bool available();
  std::string why_not() const;

  /// Has writes from now on noticed, in all pages that the ranges touch. Bytes that are read after
  /// this are what memory holds as long as a look finds them unwritten since the value returned.
  /// 0 if nothing could be armed. Ranges of other kinds of memory are left alone, silently.
  /// Cost: some us and a search in /proc/self/maps; about 1 us for the next write to each page
  Epoch arm(std::span<const AddressRange> ranges);
  /// Cost: some us, and about 1 ms for a GiB of small pages
  View look(AddressRange range);

  /// Closes, in a forked child, what belongs to its parent.
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
  detail::EpochMap armed_;  // pages that were armed, and not seen written since
  bool mappings_read_ = false;
  std::vector<AddressRange> runs_;
  std::vector<AddressRange> gaps_;
  std::vector<AddressRange> fresh_;
};

}  // namespace ob
