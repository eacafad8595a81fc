#pragma once
// How long a device takes for what it computes, from what it has computed.

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

namespace ob {

/// Remembers, for each kind of computation and size of work (in powers of two), the time per flop:
/// a running mean that follows faster times at once. Threads: any
class LearntTimes {
 public:
  /// Shorter ones are not worth remembering, nor is what was seen of such work before: nobody asks
  /// about what takes so little.
  static constexpr double kShortestSeconds = 1e-3;

  void observe(std::uint64_t kind, double flop, double seconds);

  /// The time [s] that so much work will take; 0 if nothing like it was seen. From the nearest
  /// smaller work that was seen, or else the nearest larger one, at its rate; but of smaller work
  /// no more than its eightfold is concluded, for rates rise with the size. So the prediction for
  /// what is far larger than all that was seen is a lower bound, roughly.
  double predict(std::uint64_t kind, double flop) const;

 private:
  using SecondsPerFlop = std::map<int, double>;  // by the binary exponent of the work
  void forget(std::uint64_t kind, int exponent);

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, SecondsPerFlop> seen_;
};

}  // namespace ob
