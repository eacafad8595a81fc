#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "transport/ucx/bell.hpp"

namespace ob::transport::ucx {

/// A thread that lets UCX make progress while no thread is in a call. UCX does nothing by itself,
/// unlike the system for tcp.
class Driver {
 public:
  /// The time of the next call: at wake(), after a while, or when `descriptor` is readable.
  struct Next {
    enum class When { woken, later, readable } when = When::woken;
    int descriptor = -1;
  };

  /// Calls `step` until destroyed, for the first time at the first wake(). Returns nullptr if the
  /// system has no more threads.
  static std::unique_ptr<Driver> start(std::function<Next()> step);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Threads: any
  void wake() const noexcept { bell_.ring(); }
  /// Stops the thread without use of the bell, whose number the program has closed: it may belong
  /// to another file now. Waits until a step or a poll of the thread ends.
  void stop_without_bell() noexcept;

 private:
  explicit Driver(std::function<Next()> step) : step_(std::move(step)) {}
  void run();

  const std::function<Next()> step_;
  Bell bell_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace ob::transport::ucx
