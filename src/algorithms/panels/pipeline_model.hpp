#pragma once
// What the parts of a cut-up call cost, and how long a sequence of them takes when sending,
// computing and returning go on at the same time.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ob::algorithms {

/// What was measured of the way to a device and of the device.
struct PipelineModel {
  double to_bytes_per_s = 0;
  double from_bytes_per_s = 0;
  double message_s = 0;   ///< each block sent, besides its bytes
  double fetch_s = 0;     ///< each part of the result, besides its bytes
  double flop_per_s = 0;  ///< of large products
  double call_s = 0;      ///< each call, besides its flops
  double submit_s = 0;    ///< each call, of the sender's time
  bool known() const noexcept {
    return to_bytes_per_s > 0 && from_bytes_per_s > 0 && flop_per_s > 0;
  }
};

/// What blocks, results and calls cost besides their bytes and flops: seen between two processes
/// on the two cores of one machine, over emulated links (docs/measurements).
inline constexpr double kMessageSeconds = 10e-6;
inline constexpr double kFetchSeconds = 80e-6;
inline constexpr double kCallSeconds = 20e-6;
inline constexpr double kSubmitSeconds = 80e-6;  // with the commands that fetch its result

/// Below this, a tile is no longer computed at the device's rate.
inline constexpr std::uint64_t kLeastEdge = 128;
/// Of what returns C in tiles of a square of panels: more tiles than 64 cost what they gain.
inline constexpr unsigned kMostTiled = 8;
/// Numbers of panels that are tried.
inline constexpr unsigned kPanelCounts[] = {1, 2, 3, 4, 6, 8, 12, 16};
/// What another way must save for the usual one to give way.
inline constexpr double kClearly = 0.95;

/// Plays steps through. Sending goes on by itself; calls happen in order, each after everything
/// sent before it; a fetch follows the call before it.
class Timeline {
 public:
  explicit Timeline(const PipelineModel& model) : model_(model) {}
  void send(double size_bytes) noexcept {
    sent_ += model_.message_s + size_bytes / model_.to_bytes_per_s;
  }
  void call(double flop) noexcept {
    sent_ += model_.submit_s;
    computed_ = std::max(computed_, sent_) + model_.call_s + flop / model_.flop_per_s;
  }
  void fetch(double size_bytes) noexcept {
    fetched_ =
        std::max(fetched_, computed_) + model_.fetch_s + size_bytes / model_.from_bytes_per_s;
  }
  /// From the first byte sent to the last result received.
  double seconds() const noexcept { return fetched_; }

 private:
  const PipelineModel& model_;
  double sent_ = 0;
  double computed_ = 0;
  double fetched_ = 0;
};

/// A part of a matrix.
struct Block {
  std::uint64_t row = 0;
  std::uint64_t col = 0;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

/// A part of a dimension.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// `parts` nearly equal ranges of [0, length); fewer where it is shorter.
inline std::vector<Range> cut(std::uint64_t length, unsigned parts) {
  const auto most = std::clamp<std::uint64_t>(parts, 1, std::max<std::uint64_t>(1, length));
  std::vector<Range> ranges;
  for (std::uint64_t i = 0; i < most; ++i) {
    const std::uint64_t first = length * i / most;
    ranges.push_back({first, length * (i + 1) / most - first});
  }
  return ranges;
}

}  // namespace ob::algorithms
