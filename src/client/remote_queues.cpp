#include "client/remote_queues.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace ob::client {
namespace {

using wire::Opcode;

Status unknown_queue(QueueId queue) {
  return Status(Code::invalid_argument, "queue " + std::to_string(queue.value) + " does not exist");
}

}  // namespace

Result<QueueId> RemoteQueues::create() {
  OB_RETURN_IF_ERROR(link_.usable());
  const QueueId queue{link_.next_id()};
  OB_RETURN_IF_ERROR(link_.command(Opcode::create_queue, queue).status());
  queues_[queue];
  return queue;
}

Status RemoteQueues::destroy(QueueId queue) {
  if (queues_.count(queue) == 0) return unknown_queue(queue);
  (void)synchronize(queue);  // the queue's failure is of no further interest
  OB_RETURN_IF_ERROR(link_.usable());
  queues_.erase(queue);
  return link_.command(Opcode::destroy_queue, queue).status();
}

Status RemoteQueues::set_accuracy(QueueId id, Accuracy accuracy) {
  OB_RETURN_IF_ERROR(link_.usable());
  const auto at = queues_.find(id);
  if (at == queues_.end()) return unknown_queue(id);
  if (at->second.accuracy == accuracy) return {};
  at->second.accuracy = accuracy;
  return link_.command(Opcode::set_accuracy, id, wire::SetAccuracy{accuracy}).status();
}

Result<bool> RemoteQueues::enter(QueueId id, bool counted) {
  OB_RETURN_IF_ERROR(link_.usable());
  const auto at = queues_.find(id);
  if (at == queues_.end()) return unknown_queue(id);
  if (counted) at->second.sequences.push_back(link_.connection().next_sequence());
  return at->second.report.status.ok();
}

void RemoteQueues::renumber_last(QueueId id, std::span<const std::uint64_t> sequences) {
  Queue& queue = queues_.at(id);
  const std::size_t before = queue.sequences.size() - sequences.size();
  std::copy(sequences.begin(), sequences.end(),
            queue.sequences.begin() + static_cast<std::ptrdiff_t>(before));
  // A synchronize that was sent before them does not tell of them.
  queue.asked_commands = std::min(queue.asked_commands, before);
}

bool RemoteQueues::is_over(QueueId queue, std::uint64_t sequence) const {
  const auto at = queues_.find(queue);
  return at == queues_.end() || sequence <= at->second.reached;
}

// --- waiting -------------------------------------------------------------------------------------

// Returns the number, from 1, of the queue's command with this sequence; 0 if there is none.
std::uint64_t RemoteQueues::Queue::number_of(std::uint64_t sequence) const {
  // A command that sent nothing has the sequence of the next command.
  const auto after = std::upper_bound(sequences.begin(), sequences.end(), sequence);
  if (sequence == 0 || after == sequences.begin() || *std::prev(after) != sequence) return 0;
  return passed + static_cast<std::uint64_t>(after - sequences.begin());
}

// Asks the daemon for the outcome of the queue, unless an answer is still on its way, and adds the
// answer to the report. Returns false if the deadline passes first.
Result<bool> RemoteQueues::wait_for(QueueId id, Queue& queue, QueuePass& pass,
                                    transport::Deadline deadline) {
  OB_RETURN_IF_ERROR(link_.usable());
  if (queue.asked == 0) {
    OB_ASSIGN_OR_RETURN(queue.asked, link_.command(Opcode::synchronize, id));
    queue.asked_commands = queue.sequences.size();
  }
  const auto answer = link_.connection().wait_done(queue.asked, deadline);
  if (!answer.ok()) return link_.note(answer.status());
  if (!*answer) return false;
  const wire::Outcome& done = **answer;
  queue.report.compute_ns += done.compute_ns;
  queue.report.plan_ns += done.plan_ns;
  queue.report.waited_ns += done.waited_ns;
  pass.answered = true;
  pass.confirmed = done.code == Code::ok;
  if (!pass.confirmed && queue.report.status.ok()) {
    queue.report.status = Status(done.code, done.message);
    queue.report.failed_command = queue.number_of(done.failed_sequence);
  }
  queue.reached = std::exchange(queue.asked, 0);
  link_.set_keep_bytes(done.keep_bytes);
  return true;
}

Result<bool> RemoteQueues::finish_pass(QueueId id, Queue& queue, transport::Deadline deadline) {
  QueuePass pass{.queue = id, .from = queue.reached};
  const auto answered = wait_for(id, queue, pass, deadline);
  if (answered.ok() && !*answered) return false;
  const std::size_t over = answered.ok() ? queue.asked_commands : queue.sequences.size();
  queue.passed += over;
  queue.sequences.erase(queue.sequences.begin(),
                        queue.sequences.begin() + static_cast<std::ptrdiff_t>(over));
  pass.successful = answered.ok() && queue.report.status.ok();
  const Status heard = listener_->on_passed(pass);
  OB_RETURN_IF_ERROR(answered.status());
  OB_RETURN_IF_ERROR(heard);
  return true;
}

Result<bool> RemoteQueues::pass(QueueId id, transport::Deadline deadline) {
  const auto at = queues_.find(id);
  if (at == queues_.end()) return unknown_queue(id);
  Queue& queue = at->second;
  // An earlier wait that ended at its deadline did not ask for the commands since then.
  if (queue.asked != 0 && queue.asked_commands < queue.sequences.size()) {
    OB_ASSIGN_OR_RETURN(const bool answered, finish_pass(id, queue, deadline));
    if (!answered) return false;
  }
  return finish_pass(id, queue, deadline);
}

bool RemoteQueues::pass_unsent(QueueId id) {
  const auto at = queues_.find(id);
  if (at == queues_.end() || at->second.asked != 0) return false;
  at->second.passed += at->second.sequences.size();
  at->second.sequences.clear();
  return true;
}

QueueReport RemoteQueues::report(QueueId id, bool clear) {
  QueueReport& report = queues_.at(id).report;
  return clear ? std::exchange(report, QueueReport{}) : report;
}

QueueReport RemoteQueues::synchronize(QueueId queue) {
  const Status status = pass(queue);
  if (status.ok()) return report(queue, true);
  QueueReport failure;
  failure.status = status;
  return failure;
}

Status RemoteQueues::on_reached(QueueId queue, bool clear,
                                const std::function<void(const QueueReport&)>& done) {
  OB_RETURN_IF_ERROR(pass(queue));
  done(report(queue, clear));
  return {};
}

Result<std::uint64_t> RemoteQueues::submit_mark(QueueId id) {
  OB_RETURN_IF_ERROR(link_.usable());
  if (queues_.count(id) == 0) return unknown_queue(id);
  return link_.command(Opcode::mark, id);
}

Result<QueueMark> RemoteQueues::mark(QueueId id) {
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, submit_mark(id));
  const auto reached = link_.connection().wait_reached(sent);
  if (!reached.ok()) return link_.note(reached.status());
  return mark_of(id, *reached);
}

// Adds the outcome since the daemon's last report to the earlier ones.
QueueMark RemoteQueues::mark_of(QueueId id, const wire::Reached& answer) const {
  const wire::Outcome& outcome = answer.outcome;
  const auto at = queues_.find(id);
  QueueMark mark{at == queues_.end() ? QueueReport() : at->second.report, answer.clock_ns};
  mark.report.compute_ns += outcome.compute_ns;
  mark.report.plan_ns += outcome.plan_ns;
  mark.report.waited_ns += outcome.waited_ns;
  if (outcome.code != Code::ok && mark.report.status.ok()) {
    mark.report.status = Status(outcome.code, outcome.message);
    if (at != queues_.end()) {
      mark.report.failed_command = at->second.number_of(outcome.failed_sequence);
    }
  }
  return mark;
}

// --- events --------------------------------------------------------------------------------------

Result<EventId> RemoteQueues::create_event() {
  const EventId event = event_numbers_.take();
  events_.insert(event);
  return event;
}

Status RemoteQueues::destroy_event(EventId event) {
  OB_RETURN_IF_ERROR(check_event(event));
  events_.erase(event);
  event_numbers_.give_back(event);
  return {};
}

Status RemoteQueues::check_event(EventId event) const {
  if (events_.count(event) != 0) return {};
  return Status(Code::invalid_argument, "event " + std::to_string(event.value) + " does not exist");
}

}  // namespace ob::client
