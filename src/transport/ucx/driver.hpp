#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "transport/ucx/bell.hpp"

namespace ob::transport::ucx {

/// A thread that moves on what was accepted while nobody is in a call: UCX does nothing by itself,
/// as the system does for tcp.
class Driver {
 public:
  /// When to call again: at wake(), after a while, or when `descriptor` is readable.
  struct Next {
    enum class When { woken, later, readable } when = When::woken;
    int descriptor = -1;
  };

  /// Calls `step` until destroyed, first at the first wake(). nullptr if there can be no thread.
  static std::unique_ptr<Driver> start(std::function<Next()> step);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Threads: any
  void wake() const noexcept { bell_.ring(); }
  /// In a program that closed our descriptors.
  void abandon_descriptor() noexcept { bell_.abandon(); }

 private:
  explicit Driver(std::function<Next()> step) : step_(std::move(step)) {}
  void run();

  const std::function<Next()> step_;
  Bell bell_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace ob::transport::ucx
