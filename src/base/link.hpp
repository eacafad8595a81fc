#pragma once
// The measured cost of a connection.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/contract.hpp"

namespace ob {

/// Seconds of a one-way transfer as a function of its size. Times between two measured sizes are
/// interpolated linearly. Beyond the largest size, the last slope continues, within a factor of two
/// of the largest size's rate: a disturbed sample must not be extrapolated. Empty if not measured.
class TransferTimes {
 public:
  struct Sample {
    double bytes = 0;
    double seconds = 0;
  };
  static constexpr std::size_t kMost = 12;

  /// Adds a measurement. Sizes must rise; others, and those beyond the first kMost, are ignored.
  void add(double bytes, double seconds) noexcept {
    if (count_ == kMost || !(bytes > 0) || !(seconds > 0)) return;
    if (count_ > 0 && bytes <= samples_[count_ - 1].bytes) return;
    samples_[count_++] = {bytes, seconds};
  }
  std::span<const Sample> samples() const noexcept { return {samples_.data(), count_}; }
  bool known() const noexcept { return count_ > 1; }

  /// Returns the time of a transfer of `bytes`.
  /// @pre known()
  double seconds(double bytes) const noexcept {
    OB_EXPECT(known());
    std::size_t above = 1;
    while (above + 1 < count_ && samples_[above].bytes < bytes) ++above;
    const Sample& low = samples_[above - 1];
    const Sample& high = samples_[above];
    double slope = std::max(0.0, (high.seconds - low.seconds) / (high.bytes - low.bytes));
    if (bytes > high.bytes) {
      const double whole = high.seconds / high.bytes;
      slope = std::clamp(slope, 0.5 * whole, 2 * whole);
      return high.seconds + (bytes - high.bytes) * slope;
    }
    const double found = low.seconds + (bytes - low.bytes) * slope;
    // below the smallest size, the time is proportional to the size
    const double share = samples_[0].seconds * bytes / samples_[0].bytes;
    return bytes < samples_[0].bytes ? share : found;
  }

 private:
  std::array<Sample, kMost> samples_{};
  std::size_t count_ = 0;
};

/// Latency and rates of a connection. They are measured, never guessed; zero until then.
struct Link {
  double round_trip_s = 0;
  double to_bytes_per_s = 0;    ///< rate of large transfers
  double from_bytes_per_s = 0;  ///< rate of large transfers
  TransferTimes to;             ///< without the round trip
  TransferTimes from;           ///< without the round trip
  /// Additional time of each byte in memory that was never used before: the system finds and clears
  /// pages, on both sides.
  double fresh_s_per_byte = 0;

  bool known() const noexcept { return to_bytes_per_s > 0; }
  /// Returns the time of a transfer to the device, without the round trip.
  /// @pre known()
  double seconds_to(double bytes) const noexcept {
    OB_EXPECT(known());
    return to.known() ? to.seconds(bytes) : bytes / to_bytes_per_s;
  }
  /// Returns the time of a transfer from the device, without the round trip.
  /// @pre known()
  double seconds_from(double bytes) const noexcept {
    OB_EXPECT(known());
    return from.known() ? from.seconds(bytes) : bytes / from_bytes_per_s;
  }
};

/// Returns the faster one of two measurements of the same link: other work on the machine makes
/// transfers slower, nothing makes them faster. Keeps the cost of new memory of `first`: only the
/// first measurement meets new memory.   @pre both are known()
inline Link faster_of(const Link& first, const Link& second) noexcept {
  constexpr double kBytes = 1 << 20;
  const auto both_ways_s = [](const Link& link) {
    return 2 * link.round_trip_s + link.seconds_to(kBytes) + link.seconds_from(kBytes);
  };
  Link found = both_ways_s(second) < both_ways_s(first) ? second : first;
  found.fresh_s_per_byte = first.fresh_s_per_byte;
  return found;
}

}  // namespace ob
