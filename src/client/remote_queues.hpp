#pragma once
// The queues and events of a remote device, and the commands of each queue since the last wait.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/accuracy.hpp"
#include "client/daemon_link.hpp"
#include "client/event_numbers.hpp"
#include "device/device.hpp"

namespace ob::client {

/// The end of a wait for a queue.
struct QueuePass {
  QueueId queue;
  std::uint64_t from = 0;   ///< the wait was for the commands after this sequence
  bool answered = false;    ///< the daemon has answered: all of them are over
  bool confirmed = false;   ///< all of them have succeeded
  bool successful = false;  ///< no command of the queue has failed since its last report
};

/// Gets a call after every wait for a queue.
class QueuePassListener {
 public:
  virtual ~QueuePassListener() = default;
  /// Errors: those of the connection
  virtual Status on_passed(const QueuePass& pass) = 0;
};

/// Threads: one at a time.
class RemoteQueues {
 public:
  explicit RemoteQueues(DaemonLink& link) : link_(link) {}
  /// @pre called before the first queue is created; the listener outlives the queues
  void set_listener(QueuePassListener& listener) noexcept { listener_ = &listener; }

  Result<QueueId> create();
  /// Waits for the queue and destroys it.
  Status destroy(QueueId queue);
  Status set_accuracy(QueueId queue, Accuracy accuracy);

  /// Counts one command, which is sent next. Returns false if the command must be skipped: an
  /// earlier one failed, and the daemon cleared the queue when this side learned of it.
  /// @param counted false: the command is a part of the one that is counted next
  Result<bool> enter(QueueId queue, bool counted = true);
  /// Gives the last commands that were counted, and sent nothing then, the sequences with which
  /// they are sent now.   @pre the queue exists and has so many commands
  void renumber_last(QueueId queue, std::span<const std::uint64_t> sequences);
  /// Returns the failure for which enter() returns false.   @pre the queue exists
  const Status& failure(QueueId queue) const { return queues_.at(queue).report.status; }
  /// True if the command is known to be over, or its queue is gone.
  bool is_over(QueueId queue, std::uint64_t sequence) const;

  /// Waits for the queue. Failures of its commands are kept for synchronize().
  /// Errors: those of the connection
  Status pass(QueueId queue) { return pass(queue, transport::Deadline::max()).status(); }
  /// The same; returns false if the deadline passes first. A later wait goes on.
  Result<bool> pass(QueueId queue, transport::Deadline deadline);
  /// Returns the report of the commands up to the last pass().   @pre the queue exists
  QueueReport report(QueueId queue, bool clear);
  /// Counts the commands since the last pass() as over, unless a question is under way. Returns
  /// true if none is left.   @pre none of them was sent
  bool pass_unsent(QueueId queue);
  /// Returns the last sequence that is known to be done.   @pre the queue exists
  std::uint64_t reached(QueueId queue) const { return queues_.at(queue).reached; }
  QueueReport synchronize(QueueId queue);
  Status on_reached(QueueId queue, bool clear, const std::function<void(const QueueReport&)>& done);
  /// Waits until the queue is here, and clears nothing, not even on the daemon.
  Result<QueueMark> mark(QueueId queue);
  /// Only asks, and returns the sequence of the question; mark_of() converts the answer.
  Result<std::uint64_t> submit_mark(QueueId queue);
  QueueMark mark_of(QueueId queue, const wire::Reached& answer) const;

  Result<EventId> create_event();
  Status destroy_event(EventId event);
  /// Errors: invalid_argument if the event does not exist
  Status check_event(EventId event) const;

 private:
  struct Queue {
    std::uint64_t reached = 0;             // the last sequence known to be done
    std::uint64_t passed = 0;              // number of commands before those below
    std::vector<std::uint64_t> sequences;  // sequences of commands since the last pass()
    std::uint64_t asked = 0;         // the sequence of a synchronize without answer yet; 0: none
    std::size_t asked_commands = 0;  // the part of `sequences` that it is for
    QueueReport report;              // results that synchronize() has not returned yet
    Accuracy accuracy = Accuracy::standard;  // the mode that the daemon has
    std::uint64_t number_of(std::uint64_t sequence) const;
  };

  Result<bool> wait_for(QueueId id, Queue& queue, QueuePass& pass, transport::Deadline deadline);
  Result<bool> finish_pass(QueueId id, Queue& queue, transport::Deadline deadline);

  DaemonLink& link_;
  QueuePassListener* listener_ = nullptr;
  std::unordered_map<QueueId, Queue> queues_;
  // The session keeps event numbers forever, so they are used again.
  std::unordered_set<EventId> events_;
  EventNumbers event_numbers_;
};

}  // namespace ob::client
