#pragma once
// The messages of a plan as persistent MPI requests.

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/trace.hpp"
#include "overlap/region.hpp"

namespace ob::overlap {

/// One message to or from `peer`. The regions travel in their order.
struct Message {
  bool sends = false;
  int peer = 0;
  int tag = 0;
  std::vector<Region> regions;
  Box box;           ///< the cells; for ready()
  std::string name;  ///< the cells, for reports
  /// A send waits for the receive with this number (among the receives) to be complete; -1: none.
  int after = -1;

  std::size_t bytes() const noexcept;
  std::uint64_t signature() const noexcept;
};

/// The time from the start of a message until its end was seen [ns].
struct MessageTimes {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Runs the messages again and again. Threads: one at a time drives (start, advance); release() and
/// the questions are for any thread.
class Exchange {
 public:
  /// @param late_unpack receives stay in their buffers until unpack()
  /// @param trace for spans and times(), or null
  /// Errors: unsupported if a message has 2 GiB or more.
  static Result<std::unique_ptr<Exchange>> create(MPI_Comm comm, std::vector<Message> messages,
                                                  bool late_unpack, Trace* trace);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Receives are in front of sends.
  const std::vector<Message>& messages() const noexcept { return messages_; }
  std::size_t receives() const noexcept { return receives_; }

  /// Prepares a run. Held sends wait for release().
  void prepare(bool hold_sends) noexcept;
  void release(std::size_t message) noexcept;
  void release_all() noexcept;
  bool held(std::size_t message) const noexcept;
  bool any_held() const noexcept;

  /// Starts the receives and the released sends, and tests once: MPICH may start nothing before.
  /// Long sends are started before the receives.
  Status start();
  /// Starts sends that were released since, and tests. Returns true if a message was completed.
  Result<bool> advance();
  bool complete() const noexcept { return open_.load(std::memory_order_acquire) == 0; }
  /// Returns true if all receives are complete, and so all sends that follow them have started.
  /// Threads: the driver.
  bool arrived() const noexcept { return arriving_ == 0; }
  /// Returns true if the message is not complete.
  bool open(std::size_t message) const noexcept;
  /// Returns the times of a message in the last run, if there is a trace.
  /// @pre !open(message)
  const MessageTimes& times(std::size_t message) const noexcept { return times_[message]; }
  Trace* trace() const noexcept { return trace_; }
  /// Returns the number of the message that was completed last.
  std::size_t last_completed() const noexcept { return last_completed_; }
  /// Returns the message that failed, or -1.
  int failed_message() const noexcept { return failed_; }
  /// Returns when something moved last, or when the run began.
  std::int64_t moved_ns() const noexcept { return moved_ns_.load(std::memory_order_relaxed); }
  /// Returns the bytes of all messages of a run.
  std::int64_t bytes() const noexcept { return bytes_; }
  /// Copies what arrived to its place, if create() was asked to wait for it.
  void unpack() noexcept;

 private:
  enum class Stage : std::uint8_t { complete, held, follows, released, active };

  Exchange(std::vector<Message> messages, bool late_unpack, Trace* trace);
  bool staged(const Message& message) const noexcept;
  Status make_requests(MPI_Comm comm);
  Stage first_stage(std::size_t message, bool hold_sends) const noexcept;
  void pack(std::size_t message) noexcept;
  Status start_released(std::size_t least_bytes = 0);
  void complete_one(std::size_t message) noexcept;
  void unpack_one(std::size_t message) noexcept;
  Status failure(const char* function, int result, int completed);

  std::vector<Message> messages_;
  bool late_unpack_;
  Trace* trace_;
  std::vector<MessageTimes> times_;  ///< empty without a trace
  std::size_t receives_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::byte*> buffers_;  ///< null for messages in place
  std::int64_t bytes_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  std::unique_ptr<std::atomic<Stage>[]> stages_;
  std::vector<std::vector<std::size_t>> followers_;  ///< of each receive, the sends after it
  int arriving_ = 0;                                 ///< receives that are not complete
  std::atomic<int> open_{0};
  std::atomic<int> to_start_{0};
  std::atomic<std::int64_t> moved_ns_{0};
  std::size_t last_completed_ = 0;
  int failed_ = -1;
};

}  // namespace ob::overlap
