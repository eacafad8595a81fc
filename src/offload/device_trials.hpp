#pragma once
// The number of devices that calls of one shape get: by the model first, then by what was seen.

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace ob::offload {

/// Tries the model's number first, twice, then others that it predicts to be nearly as good, and
/// then stays with the fastest. So a link that was measured in a bad moment costs some calls and
/// not all.
/// Threads: one at a time
class DeviceTrials {
 public:
  bool begun() const noexcept { return !candidates_.empty(); }
  /// @param predicted_s of 1, 2, 3 ... devices   @pre 1 <= chosen <= predicted_s.size()
  void begin(std::span<const double> predicted_s, std::size_t chosen);
  /// Devices for the next call.   @pre begun()
  std::size_t next() const noexcept;
  /// A call took so long on so many.
  void took(std::size_t devices, double seconds) noexcept;

  /// How calls are split over so many devices, once that was decided: always the same way.
  std::map<std::size_t, std::vector<double>> weights;

 private:
  struct Candidate {
    std::size_t devices = 1;
    double least_s = 0;
    unsigned runs = 0;
  };
  std::vector<Candidate> candidates_;  // the model's first
};

}  // namespace ob::offload
