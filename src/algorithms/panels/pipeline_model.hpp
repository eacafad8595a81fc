#pragma once
// A cost model for a call in parts. It predicts the time of a sequence of parts when sending,
// computing and returning overlap.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ob::algorithms {

/// Measured properties of the link to a device and of the device.
struct PipelineModel {
  double to_bytes_per_s = 0;
  double from_bytes_per_s = 0;
  double message_s = 0;   ///< time of each block sent, in addition to its bytes
  double fetch_s = 0;     ///< time of each part of the result, in addition to its bytes
  double flop_per_s = 0;  ///< the rate of large products
  double call_s = 0;      ///< time of each call, in addition to its flops
  double submit_s = 0;    ///< time of the sender for each call
  bool known() const noexcept {
    return to_bytes_per_s > 0 && from_bytes_per_s > 0 && flop_per_s > 0;
  }
};

/// The cost of blocks, results and calls in addition to their bytes and flops. The values are
/// measured between two processes on the two cores of one machine, over emulated links
/// (docs/measurements).
inline constexpr double kMessageSeconds = 10e-6;
inline constexpr double kFetchSeconds = 80e-6;
inline constexpr double kCallSeconds = 20e-6;
inline constexpr double kSubmitSeconds = 80e-6;  // includes the commands that fetch the result

/// A tile with a shorter edge is computed more slowly than at the device's rate.
inline constexpr std::uint64_t kLeastEdge = 128;
/// The most panels per edge of C where C returns in tiles. More than 8 x 8 = 64 tiles cost as much
/// as they gain.
inline constexpr unsigned kMostTiled = 8;
/// The numbers of panels that are tried.
inline constexpr unsigned kPanelCounts[] = {1, 2, 3, 4, 6, 8, 12, 16};
/// The preferred schedule is replaced only by one whose time is below this fraction of its own.
inline constexpr double kClearly = 0.95;

/// Simulates the steps of a schedule. Sending never waits. Calls run in order, each after
/// everything that is sent before it. A fetch follows the call before it.
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
  /// Seconds from the first byte sent to the last result received.
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

/// Cuts [0, length) into `parts` nearly equal ranges; into fewer if length < parts.
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
