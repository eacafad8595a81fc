#pragma once
// The thread that makes progress while the program computes.

#include <atomic>
#include <cstdint>
#include <thread>

#include "overlap/doorbell.hpp"
#include "overlap/programs/operations.hpp"

namespace ob::overlap {

/// Drives the operations that are under way, and sleeps while there are none.
class Driver {
 public:
  explicit Driver(Operations& operations) : operations_(operations) {}

  /// Starts the thread. Returns false if the system refuses.
  bool start(bool own_core);
  /// Ends the thread. Afterwards no call of MPI comes from it. Does nothing in a child process,
  /// which has no such thread.
  void stop() noexcept;
  /// Ends the thread where the process ends. A signal handler of the program may call exit() inside
  /// of MPI. The thread then waits for a lock of MPI that nobody gives back, and is left there.
  void stop_at_exit() noexcept;

  bool runs() const noexcept { return thread_.joinable(); }
  bool own_core() const noexcept { return own_core_; }
  /// Lets the thread work, or sleep until it is enabled again. Threads: any.
  void enable(bool on) noexcept {
    enabled_.store(on, std::memory_order_relaxed);
    bell_.ring();
  }
  /// Wakes the thread after an operation has started, if it is enabled. Threads: any.
  void wake() noexcept {
    // A program that tests in a loop comes here each time.
    if (enabled_.load(std::memory_order_relaxed)) bell_.ring();
  }
  /// The program's thread is inside of a call that makes progress itself. Threads: any.
  void program_drives(int change) noexcept { inside_.fetch_add(change, std::memory_order_relaxed); }
  /// Returns the processor time of the thread [ns].
  std::int64_t processor_ns() const noexcept { return processor_ns_.load(); }

 private:
  void run();
  std::int64_t nap_ns() noexcept;
  bool has_thread() const noexcept;

  Operations& operations_;
  Doorbell bell_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> enabled_{true};
  std::atomic<int> inside_{0};
  std::atomic<std::int64_t> processor_ns_{0};
  bool own_core_ = false;
  std::int64_t little_until_ns_ = 0;  ///< the last look that found little under way; the thread's
  int process_ = 0;
  std::thread thread_;
};

}  // namespace ob::overlap
