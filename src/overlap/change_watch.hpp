#pragma once
// Whether iterations still take the time by which something was chosen for them.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "overlap/median.hpp"

namespace ob::overlap {

/// Keeps the times of the last iterations, and says when to compare them with those of the choice:
/// after 32 iterations, 64, 128 and so on. After a change that it found, the first comparison comes
/// twice as late, so that programs without steady times are not tried again and again.
/// Threads: one at a time
class ChangeWatch {
 public:
  static constexpr std::int64_t kFirst = 32;
  static constexpr std::int64_t kMost = 512;  ///< the latest first comparison
  static constexpr double kChange = 1.25;     ///< times that differ more have changed

  /// Begins after a choice.
  void begin() noexcept {
    count_ = 0;
    next_ = first_;
  }
  void add(double time) noexcept { times_[count_++ % kRecent] = time; }
  /// @param iterations since the choice
  bool due(std::int64_t iterations) const noexcept { return iterations == next_; }
  /// Returns the median of the last iterations; 0 if there are none.
  double recent() const {
    return median(std::vector<double>(times_.begin(),
                                      times_.begin() + std::ptrdiff_t(std::min(count_, kRecent))));
  }
  /// Compares when due().
  /// @param recent that of all ranks   @param chosen the time by which the choice was made
  bool changed(double recent, double chosen) noexcept {
    next_ *= 2;
    if (recent <= kChange * chosen && chosen <= kChange * recent) return false;
    first_ = std::min(2 * first_, kMost);
    return true;
  }

 private:
  // An odd number, as in the trials: where long and short times alternate, both have the same
  // median.
  static constexpr std::size_t kRecent = 15;
  std::array<double, kRecent> times_{};
  std::size_t count_ = 0;
  std::int64_t first_ = kFirst;
  std::int64_t next_ = kFirst;
};

}  // namespace ob::overlap
