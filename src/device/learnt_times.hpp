#pragma once
// Predicted times of computations, learnt from earlier ones.

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

namespace ob {

/// Remembers the time per flop for each kind of computation and size of work (in powers of two): a
/// running mean that follows faster times at once.   Threads: any
class LearntTimes {
 public:
  /// Shorter computations are not remembered: nobody needs a prediction for them.
  static constexpr double kShortestSeconds = 1e-3;

  void observe(std::uint64_t kind, double flop, double seconds);

  /// Predicts the time of some work [s]; 0 if nothing similar was seen. It uses the rate of the
  /// nearest smaller work that was seen, or else of the nearest larger one. Smaller work supports a
  /// prediction of at most eight times its own time, because rates rise with the size. The result
  /// for work far larger than any seen is therefore about a lower bound.
  double predict(std::uint64_t kind, double flop) const;

 private:
  using SecondsPerFlop = std::map<int, double>;  // by the binary exponent of the work
  void forget(std::uint64_t kind, int exponent);

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, SecondsPerFlop> seen_;
};

}  // namespace ob
