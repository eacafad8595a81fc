#pragma once
// Observations of one routine, by size of the work.

#include <atomic>
#include <cstdint>

namespace ob::policy {

/// A positive figure by size of the work: one value for each power of two. Lock-free; a race can
/// lose a sample but does not damage the table.   Units: work in flop
class SizeTable {
 public:
  /// Blends in one observation (exponentially, so that the table follows a machine that changes);
  /// `weight` 1 replaces the value.
  void blend(double work_flop, double value, double weight) noexcept;
  /// Returns the value of exactly this power of two; 0 if unknown.
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
  std::atomic<double> values_[kBuckets]{};
};

}  // namespace ob::policy
