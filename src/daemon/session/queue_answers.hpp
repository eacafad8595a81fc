#pragma once
// Answers that a queue sends when it reaches a command.

#include <cstdint>
#include <exception>

#include "base/status.hpp"
#include "daemon/session/client_context.hpp"
#include "device/device.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// An answer that is ordered but not sent yet. A command that was never submitted comes after those
/// that failed on the device.
struct QueueAnswer {
  std::shared_ptr<Channel> channel;
  std::shared_ptr<SessionQueue> queue;
  std::uint64_t command = 0;  ///< its number, as `submitted` counts commands
  QueueId id;
  std::uint64_t sequence = 0;  ///< the sequence of the answered command
  Status failure;              ///< the queue's failure when the answer was ordered
  std::uint64_t failed_sequence = 0;

  /// Returns the outcome with the returned credits.
  /// Threads: the queue's answers, in its order
  wire::Outcome outcome(const QueueReport& report) const;
  /// Notes that the command is done, and with it those before. Others may then write to the memory
  /// that it used, so the answer to a read calls this after it has sent the data.
  void finish() const noexcept { queue->reach(command); }
};

/// Starts an answer to the command. The answer returns the queue's credits up to the command.
QueueAnswer begin_answer(ClientContext& client, const QueueCommand& command);

/// Sends a credit message once the queue gets here.   Errors: those of the device
Status order_credits(ClientContext& client, const QueueCommand& command);

/// Calls `send`. If it throws, most likely because memory is short, the connection ends, because
/// its client would wait for ever for the answer.
template <class Send>
void answer_or_cut(Channel& channel, const Send& send) {
  try {
    send();
  } catch (const std::exception&) {
    channel.shut_down();
  }
}

/// Returns a function of the device's report that calls `answer`; the channel is busy until then.
template <class Answer>
auto owed_answer(const std::shared_ptr<Channel>& channel, Answer answer) {
  ++channel->replies().owed;
  return [channel, answer = std::move(answer)](const auto& report) {
    answer_or_cut(*channel, [&] { answer(report); });
    --channel->replies().owed;
  };
}

/// Calls `answer` once the queue gets here; the channel is busy until then.
/// @param clear clears the failure of the device's queue   Errors: those of the device
template <class Answer>
Status order_answer(ClientContext& client, const QueueCommand& command, bool clear, Answer answer) {
  Status ordered = client.session->device().on_reached(
      command.queue->local, clear, owed_answer(client.channel, std::move(answer)));
  if (!ordered.ok()) --client.channel->replies().owed;
  return ordered;
}

/// The same for the answer to a mark, which clears nothing.
template <class Answer>
Status order_mark(ClientContext& client, const QueueCommand& command, Answer answer) {
  Status ordered = client.session->device().mark(command.queue->local,
                                                 owed_answer(client.channel, std::move(answer)));
  if (!ordered.ok()) --client.channel->replies().owed;
  return ordered;
}

}  // namespace ob::daemon
