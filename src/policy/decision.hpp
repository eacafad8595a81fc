#pragma once
// Local or remote: compares what a call took here with what it would take there.

#include <atomic>
#include <cstdint>

#include "base/link.hpp"

namespace ob::policy {

/// Observed rates of one routine, by size of the work. Short runs say nothing before a few of them
/// were seen: the first starts threads and touches memory, and a size whose first run was slow
/// would be sent away for ever, never to be timed again. Lock-free; races lose a sample, never the
/// table. Units: work in flop, rates in flop/s
class RateTable {
 public:
  /// Blends one observation in (exponentially, so that the table follows a machine that changes).
  void observe(double work_flop, double seconds) noexcept;
  /// The rate at this size or, failing that, at the nearest size within three powers of two; 0 if
  /// unknown.
  double rate(double work_flop) const noexcept;

 private:
  static constexpr int kBuckets = 64;  // by log2 of the work
  std::atomic<double> rate_[kBuckets]{};
  std::atomic<std::uint8_t> samples_[kBuckets]{};  // up to the number that is enough
};

/// What a call is about to do.
struct Work {
  double flop = 0;
  double bytes_to = 0;
  double bytes_from = 0;
  bool overlaps = false;  ///< sending, computing and returning go on at the same time
};

/// What one knows of doing it elsewhere.
struct Remote {
  Link link;
  double flop_per_s = 0;  ///< observed for this routine, or the device's own figure scaled
};

enum class Choice : std::uint8_t { local, remote, learn_local };

struct Decision {
  Choice choice = Choice::local;
  double local_s = 0;   ///< predicted; 0 if unknown
  double remote_s = 0;  ///< predicted
};

/// remote only if it is predicted to save kMargin; learn_local if the local rate is unknown, so
/// that the call runs here and is timed. Never guesses: an unknown link or device rate means local.
Decision decide(const Work& work, double local_flop_per_s, const Remote& remote) noexcept;

/// Remote must be predicted this much faster; covers noise and what the model leaves out.
inline constexpr double kMargin = 1.2;

}  // namespace ob::policy
