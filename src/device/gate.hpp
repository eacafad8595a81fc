#pragma once
// A condition outside of a device that holds its queues back.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "base/status.hpp"

namespace ob {

/// Opens once, with an outcome. Queues that Device::hold() holds at the gate go on then.
/// Threads: any
class Gate {
 public:
  /// Opens the gate. Later calls do nothing.
  /// @param outcome a failure makes the queues that the gate holds fail
  void open(Status outcome = {});
  bool is_open() const;
  /// Waits until the gate is open, but no longer than `longest`.   @returns is_open()
  bool wait_for(std::chrono::milliseconds longest) const;
  /// Returns the outcome with which the gate was opened.   @pre is_open()
  Status outcome() const;
  /// Calls `opened` with the outcome when the gate opens, on the thread that opens it; at once if
  /// the gate is open.
  void when_open(std::function<void(const Status&)> opened) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool open_ = false;
  Status outcome_;
  mutable std::vector<std::function<void(const Status&)>> waiting_;
};

}  // namespace ob
