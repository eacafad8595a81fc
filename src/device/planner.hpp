#pragma once
// A thread that makes the plans of a device while their data may still be travelling.

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
  /// @param memory_bytes the memory of the device
  explicit Planner(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  /// Checks a plan.
  /// Errors: invalid_argument if no backend could carry it out; out_of_memory if its arrays are
  ///         larger than the device's memory
  Status check(const FftPlan& plan) const;

  /// Reserves a place among the waiting plans.   Errors: out_of_memory if there are too many
  Status admit();

  /// Calls make(Plan&) in its turn: on the planner's thread or, if that is idle and the plan is
  /// `quick`, on this one. Skips a plan that only the planner still holds, because its owner has
  /// destroyed it.
  /// @pre waiting() > 0: a call of admit() was ok, one for each call of submit()
  template <class Plan, class Make>
  void submit(bool quick, std::shared_ptr<Plan> plan, Make make) {
    OB_EXPECT(waiting() > 0);
    queue_.submit({.cheap = quick, .always = true},
                  [this, plan = std::move(plan), make = std::move(make)](QueueReport&) {
                    if (plan.use_count() > 1) make(*plan);
                    OB_ASSERT(waiting() > 0);
                    --waiting_;
                    return Status();
                  });
  }

  /// Returns the number of admitted plans that are not made yet.
  unsigned waiting() const noexcept { return waiting_; }
  /// Waits until all submitted plans are made.
  void finish() { (void)queue_.synchronize(); }

 private:
  const std::uint64_t memory_bytes_;
  std::atomic<unsigned> waiting_{0};
  HostQueue queue_{"ob-planner"};
};

}  // namespace ob
