#pragma once
// The rates at which devices send to each other.

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace ob::offload {

/// Rates that were measured once for each pair of connections.   Units: bytes/s   Threads: any
class PeerRates {
 public:
  /// 0 if it was not measured.
  double rate(std::uint64_t from, std::uint64_t to) const {
    const std::lock_guard lock(mutex_);
    const auto found = rates_.find({from, to});
    return found == rates_.end() ? 0 : found->second;
  }
  void note(std::uint64_t from, std::uint64_t to, double bytes_per_s) {
    const std::lock_guard lock(mutex_);
    if (rates_.size() >= kMost)
      rates_.clear();  // most of them belong to connections that are closed
    rates_[{from, to}] = bytes_per_s;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  mutable std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> rates_;
};

}  // namespace ob::offload
