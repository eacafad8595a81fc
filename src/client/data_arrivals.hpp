#pragma once
// Tells which of the data that a connection expects have arrived.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/gate.hpp"

namespace ob::client {

/// The daemon answers queues of several connections. An answer on one of them may say that a read
/// is over whose data still wait to be received on another one.
/// Threads: any
class DataArrivals {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  /// True if the data that commands up to this sequence ask for have arrived.
  bool complete(std::uint64_t sequence) const noexcept { return oldest_.load() > sequence; }
  /// Returns a gate that opens when this is so, on the thread that receives the data; nullptr if it
  /// is so already. The gate opens with a failure if the connection ends before.
  std::shared_ptr<Gate> gate(std::uint64_t sequence);

  /// Notes the sequence of the first command whose data are missing, or kNone.
  /// Threads: the one that drives the connection
  void note_oldest(std::uint64_t sequence);
  /// Opens all gates, now and later.
  void fail(const Status& failure);

 private:
  struct Waiting {
    std::uint64_t sequence;
    std::shared_ptr<Gate> gate;
  };

  // The order of all accesses to both is that of one sequence, so that either gate() sees the
  // arrival, or note_oldest() sees the gate.
  std::atomic<std::uint64_t> oldest_{kNone};
  std::atomic<bool> awaited_{false};
  std::mutex mutex_;  // guards all below
  std::vector<Waiting> waiting_;
  Status failure_;
};

}  // namespace ob::client
