#pragma once
// The thread that moves messages while the program computes.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "overlap/doorbell.hpp"
#include "overlap/proxy_timeline.hpp"
#include "overlap/run.hpp"

namespace ob::overlap {

/// Drives the runs that are posted to it, and sleeps while none is under way.
class Proxy {
 public:
  /// @param number among the proxies of the process, for the trace
  /// @param core the core of its own, or -1: then it naps longer, since each wake-up costs a worker
  /// @param trace or null
  /// Errors: unavailable if the process gets no thread.
  static Result<std::unique_ptr<Proxy>> start(int number, int core, Trace* trace);
  /// Ends the thread. Runs that are under way stop where they are.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Hands a prepared run over. Threads: any.
  void post(Run& run) noexcept;
  /// Wakes the thread, after sends were released. Threads: any.
  void wake() noexcept { bell_.ring(); }
  /// Waits until `reached` is true for the run, for at most `limit_ns`. Meanwhile the proxy uses
  /// the core of the calling thread. Threads: one at a time.
  /// @param reached &Run::done or &Run::over
  void await(const Run& run, bool (Run::*reached)() const noexcept, std::int64_t limit_ns) noexcept;

  bool own_core() const noexcept { return core_ >= 0; }
  /// Returns the processor time of the thread [s], as of the last end of a run.
  double processor_s() const noexcept { return double(processor_ns_.load()) * 1e-9; }

 private:
  Proxy(int number, int core, Trace* trace) : number_(number), core_(core), timeline_(trace) {}
  void work();
  bool take_posted();
  bool drive_all();
  void rest(std::uint32_t seen, std::int64_t idle_since);
  std::int64_t nap_ns() const noexcept;
  /// Returns true if no computation needs the core: it is the proxy's own, or the program waits.
  bool has_core() const noexcept { return own_core() || waiting_.load(); }

  const int number_;
  const int core_;
  ProxyTimeline timeline_;
  Doorbell bell_;   ///< something to do
  Doorbell ended_;  ///< a run is done or over; of the proxy, since the run may be gone by then
  std::atomic<Run*> inbox_{nullptr};
  std::atomic<bool> stop_{false};
  std::atomic<bool> waiting_{false};  ///< a thread of the program is in await()
  std::atomic<std::int64_t> processor_ns_{0};
  std::vector<Run*> active_;
  std::thread thread_;
};

}  // namespace ob::overlap
