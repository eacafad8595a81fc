#pragma once
// The FFT plans of a remote device, and a cache of plans for later calls.

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "client/daemon_link.hpp"
#include "routines/fft.hpp"

namespace ob::client {

/// Threads: one at a time.
class RemotePlans {
 public:
  struct Sizes {
    std::uint64_t input_bytes = 0;
    std::uint64_t output_bytes = 0;
  };

  explicit RemotePlans(DaemonLink& link) : link_(link) {}

  Result<PlanId> make(const FftPlan& plan);
  Status destroy(PlanId plan);
  /// Returns the sizes of the plan's arrays; nullptr if the plan does not exist.
  const Sizes* sizes(PlanId plan) const;

  /// Returns a remembered plan, or makes one like make(). The least recently used plans are
  /// destroyed when there are too many.
  Result<PlanId> remembered(const FftPlan& plan);
  Status drop_remembered();

 private:
  Status forget_oldest();

  DaemonLink& link_;
  std::deque<std::pair<FftPlan, PlanId>> remembered_;  // back: used last
  std::uint64_t remembered_bytes_ = 0;
  std::unordered_map<PlanId, Sizes> sizes_;
};

}  // namespace ob::client
