#pragma once
// Prepares remote calls while calls run locally: uses memory on both sides, or brings operands.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "client/connection_cache.hpp"
#include "offload/execution.hpp"
#include "offload/residents.hpp"
#include "offload/tuning.hpp"
#include "policy/history.hpp"
#include "routines/argument.hpp"

namespace ob::offload {

/// A program that uses the same matrix again and again gains from an accelerator only after the
/// matrix is there, and one call may not pay for the way. The first use of memory may take longer
/// than a transfer. A thread of lowest priority does this work beforehand. It sends operands in
/// chunks, and gives the connection back after each chunk. It goes on after the call has returned:
/// it reads memory that the program may have freed, without a fault, and later calls compare what
/// they find on the device with their operands.
/// Threads: any. At most one thread runs, and only while there are operands to bring
class Prefetcher {
 public:
  Prefetcher(client::ConnectionCache& connections, Residents& residents, Tuning& tuning) noexcept
      : connections_(connections), residents_(residents), tuning_(tuning) {}
  /// Waits for the thread.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Starts to prepare a call like this one. Does nothing while another call is being prepared.
  /// Memory: `execution` names parts that outlive this   Errors: never throws
  void start(const Execution& execution, const RoutineCall& call, const policy::Work& work,
             policy::Preparation preparation) noexcept;
  /// Stops the thread after the chunk that it sends, waits for that at most 200 ms, and starts no
  /// more.
  void close() noexcept;

 private:
  struct Job;
  void run(Job& job) noexcept;
  bool step(Job& job);
  bool begin(Job& job, client::AcquiredDevice& acquired);

  client::ConnectionCache& connections_;
  Residents& residents_;
  Tuning& tuning_;
  std::mutex mutex_;  // guards all below
  std::condition_variable ended_;
  std::thread thread_;
  bool running_ = false;
  std::atomic<bool> closed_{false};
};

}  // namespace ob::offload
