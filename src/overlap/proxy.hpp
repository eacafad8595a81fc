#pragma once
// The thread that moves messages while the program computes.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "overlap/doorbell.hpp"
#include "overlap/plan.hpp"

namespace ob::overlap {

/// Drives the plans that are posted to it, and sleeps while none is under way.
class Proxy {
 public:
  /// @param core the core of its own, or -1: then it naps longer, since each wake-up costs a worker
  /// Errors: unavailable if the process gets no thread.
  static Result<std::unique_ptr<Proxy>> start(int core);
  /// Ends the thread. Runs that are under way stop where they are.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Hands a prepared plan over. Threads: any.
  void post(Plan& plan) noexcept;
  /// Wakes the thread, after sends were released. Threads: any.
  void wake() noexcept { bell_.ring(); }
  /// Waits until the run of `plan` is over, for at most `limit_ns`.
  void await(const Plan& plan, std::int64_t limit_ns) noexcept;

  bool own_core() const noexcept { return core_ >= 0; }
  /// Returns the processor time of the thread [s], as of the last end of a run.
  double processor_s() const noexcept { return double(processor_ns_.load()) * 1e-9; }

 private:
  explicit Proxy(int core) : core_(core) {}
  void run();
  bool take_posted();
  bool drive_all();
  void rest(std::uint32_t seen, std::int64_t idle_since);
  std::int64_t nap_ns() const noexcept;

  const int core_;
  Doorbell bell_;   ///< something to do
  Doorbell ended_;  ///< a run is over; of the proxy, since the plan may be gone by then
  std::atomic<Plan*> inbox_{nullptr};
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> processor_ns_{0};
  std::vector<Plan*> active_;
  std::thread thread_;
};

}  // namespace ob::overlap
