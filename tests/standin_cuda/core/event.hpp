#pragma once
// An event: a mark in a stream that others wait for.

#include <driver_types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "live_set.hpp"
#include "stream.hpp"

namespace standin {

/// One recording of an event. Memory: shared by the event and by those who wait for it
struct Record {
  std::shared_ptr<Stream> stream;
  std::uint64_t position = 0;
  Clock clock;
  std::chrono::steady_clock::time_point at;  ///< valid once it is done
  std::atomic<bool> done{false};
};

/// Threads: any
class Event {
 public:
  Event(int device, unsigned flags) : device_(device), flags_(flags) {}
  int device() const noexcept { return device_; }
  bool timing() const noexcept { return (flags_ & cudaEventDisableTiming) == 0; }
  /// Returns nullptr if the event was never recorded: then it counts as reached.
  std::shared_ptr<Record> record();
  void record(std::shared_ptr<Record> record);
  static LiveSet<Event>& all();

 private:
  const int device_;
  const unsigned flags_;
  std::mutex mutex_;
  std::shared_ptr<Record> record_;
};

}  // namespace standin
