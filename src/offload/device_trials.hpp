#pragma once
// Chooses the number of devices for calls of one shape, first by the model and then by
// measurements.

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace ob::offload {

/// Tries the model's number first, twice, then others that it predicts to be nearly as good, and
/// then stays with the fastest. So a disturbed measurement of a link slows down only some calls.
/// Threads: one at a time
class DeviceTrials {
 public:
  bool begun() const noexcept { return !candidates_.empty(); }
  /// @param predicted_s times of 1, 2, 3 ... devices   @pre 1 <= chosen <= predicted_s.size()
  void begin(std::span<const double> predicted_s, std::size_t chosen);
  /// Returns the number of devices for the next call.   @pre begun()
  std::size_t next() const noexcept;
  /// Records the time of a call on this number of devices.
  void took(std::size_t devices, double seconds) noexcept;

  /// The weights of the parts for each number of devices. Once chosen, they never change.
  std::map<std::size_t, std::vector<double>> weights;

 private:
  struct Candidate {
    std::size_t devices = 1;
    double least_s = 0;
    unsigned runs = 0;
  };
  std::vector<Candidate> candidates_;  // the model's choice is the first
};

}  // namespace ob::offload
