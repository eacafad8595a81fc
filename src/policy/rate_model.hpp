#pragma once
// Rates of one routine: knowledge that ships, corrected by measured runs.

#include <atomic>
#include <cstdint>

#include "policy/size_table.hpp"

namespace ob::policy {

/// A rate, and the factor by which it may be wrong in either direction, nine times of ten.
struct Rate {
  double flop_per_s = 0;  ///< 0: unknown
  double error = 1;
};

/// The rates of one routine by size of the work. A run corrects the shipped rate of its size, and
/// the correction is carried to other sizes. The first run of a routine counts for nothing: it
/// starts threads and loads code. A run that is slower than expected may have touched new memory,
/// or have had no core. Only as many slow runs in a row as the constructor says are believed, and
/// the best of them counts.
/// Threads: any; a race can lose a run
class RateModel {
 public:
  /// @param confirmations slow runs in a row that are believed; 1: each is
  explicit RateModel(unsigned confirmations) noexcept : confirmations_(confirmations) {}

  /// Adds a run.   @param shipped the shipped rate of this size
  void observe(double work_flop, double seconds, const Rate& shipped) noexcept;
  /// Adds a rate that earlier processes measured.
  void suppose(double work_flop, double flop_per_s, const Rate& shipped) noexcept;
  /// Returns the rate at this size.
  Rate at(double work_flop, const Rate& shipped) const noexcept;
  /// True if runs of about this size were measured, now or by an earlier process.
  bool knows(double work_flop) const noexcept { return near(SizeTable::bucket(work_flop)).known(); }
  /// Calls visit(work in the middle of its power of two [flop], flop/s) for each known size.
  template <class Visit>
  void each(Visit&& visit) const {
    rates_.each(visit);
  }
  /// Calls visit(work, flop/s, ratio of that to the shipped rate) instead.
  template <class Visit>
  void each_ratio(Visit&& visit) const {
    rates_.each([&](double work_flop, double flop_per_s) {
      visit(work_flop, flop_per_s, ratios_.in_bucket(work_flop));
    });
  }

 private:
  // The measured ratio to the shipped rate at some size.
  struct Correction {
    double ratio = 0;
    double error = 1;
    bool known() const noexcept { return ratio > 0; }
  };
  Correction near(int bucket) const noexcept;
  Correction far(int bucket) const noexcept;
  Correction exact(int bucket) const noexcept;
  void count(int bucket, std::uint8_t most) noexcept;

  const unsigned confirmations_;
  SizeTable rates_;   // flop/s
  SizeTable ratios_;  // to the shipped rate
  std::atomic<std::uint8_t> runs_[SizeTable::kBuckets]{};
  std::atomic<unsigned> slow_{0};        // slow runs in a row
  std::atomic<double> best_of_slow_{0};  // the best of their ratios to the shipped rate
  std::atomic<bool> begun_{false};
};

}  // namespace ob::policy
