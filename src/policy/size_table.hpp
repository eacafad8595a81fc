#pragma once
// Observations of one routine, by size of the work.

#include <atomic>
#include <cstdint>

namespace ob::policy {

/// A positive figure by size of the work: a value for each power of two. Lock-free; races lose a
/// sample, never the table.   Units: work in flop
class SizeTable {
 public:
  /// Blends one observation in (exponentially, so that the table follows a machine that changes);
  /// `weight` 1 replaces.
  void blend(double work_flop, double value, double weight) noexcept;
  /// The value at this size; between two that are known, along a straight line over the powers of
  /// two; failing that, the nearest within three of them, or of any smaller large work; 0 if
  /// unknown.
  double at(double work_flop) const noexcept;
  /// The value of exactly this power of two; 0 if unknown.
  double in_bucket(double work_flop) const noexcept;

  /// Calls visit(work in the middle of its power of two [flop], value) for each that is known.
  template <class Visit>
  void each(Visit&& visit) const {
    for (int i = 0; i < kBuckets; ++i) {
      const double value = values_[i].load(std::memory_order_relaxed);
      if (value > 0) visit(middle(i), value);
    }
  }

  static constexpr int kBuckets = 64;
  static int bucket(double work_flop) noexcept;
  static double middle(int bucket) noexcept {
    return 1.4142135623730951 * static_cast<double>(std::uint64_t{1} << bucket);
  }

 private:
  double beyond(int bucket) const noexcept;

  std::atomic<double> values_[kBuckets]{};
};

/// Observed rates. Short runs say nothing before a few of them were seen: the first starts threads
/// and touches memory, and a size whose first run was slow would be sent away for ever, never to be
/// timed again.   Units: work in flop, rates in flop/s   Threads: as SizeTable
class RateTable {
 public:
  void observe(double work_flop, double seconds) noexcept;
  /// The rate at this size, found as by SizeTable::at().
  double rate(double work_flop) const noexcept { return rates_.at(work_flop); }
  /// Adds a rate of an earlier run, which gives way to later observations.
  void suppose(double work_flop, double rate) noexcept;
  template <class Visit>
  void each(Visit&& visit) const {
    rates_.each(visit);
  }

 private:
  SizeTable rates_;                                  // of sizes that were seen often enough
  std::atomic<double> best_[SizeTable::kBuckets]{};  // of the others
  std::atomic<std::uint8_t> samples_[SizeTable::kBuckets]{};  // up to the number that is enough
};

}  // namespace ob::policy
