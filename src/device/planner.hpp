#pragma once
// Plans of a device that are made while data may be on its way.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.hpp"
#include "device/host_queue.hpp"
#include "routines/fft.hpp"

namespace ob {

/// Makes plans one after the other, on a thread of its own.
/// Threads: any
class Planner {
 public:
  /// @param memory_bytes the device's
  explicit Planner(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  /// Errors: invalid_argument if no backend could carry the plan out; out_of_memory if its arrays
  /// are larger than the device
  Status check(const FftPlan& plan) const;

  /// A place among those that wait, before there is a plan.   Errors: out_of_memory if too many do
  Status admit();

  /// Calls make(Plan&) in its turn, on the planner's thread or, if it is idle and the plan `quick`,
  /// on this one; not if nobody but the planner holds the plan by then: it was destroyed.
  /// @pre admit() was ok, for each once
  template <class Plan, class Make>
  void submit(bool quick, std::shared_ptr<Plan> plan, Make make) {
    queue_.submit({.cheap = quick, .always = true},
                  [this, plan = std::move(plan), make = std::move(make)](QueueReport&) {
                    if (plan.use_count() > 1) make(*plan);
                    --waiting_;
                    return Status();
                  });
  }

  /// Waits until all that were submitted are made.
  void finish() { (void)queue_.synchronize(); }

 private:
  const std::uint64_t memory_bytes_;
  std::atomic<unsigned> waiting_{0};
  HostQueue queue_{"ob-planner"};
};

}  // namespace ob
