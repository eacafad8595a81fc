#include "client/expected_data.hpp"

#include <algorithm>
#include <string>

#include "client/unexpected.hpp"
#include "wire/codec.hpp"

namespace ob::client {

Result<QueueId> ExpectedData::take(const session::Message& message, std::uint32_t& credits) {
  OB_ASSIGN_OR_RETURN(const wire::Outcome outcome, wire::decode<wire::Outcome>(message.body));
  const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.sequence == message.header.sequence;
  });
  if (at == entries_.end()) return unexpected(message);
  credits = outcome.credits;
  const Entry entry = *at;
  entries_.erase(at);
  if (outcome.code == Code::ok) {
    OB_RETURN_IF_ERROR(begin(message, entry));
    return entry.queue;
  }
  failures_.try_emplace(entry.queue.value, Status(outcome.code, outcome.message),
                        message.header.sequence);
  if (message.header.payload_bytes != 0) return unexpected(message);
  return entry.queue;
}

Status ExpectedData::begin(const session::Message& message, const Entry& entry) {
  const std::uint64_t expected_bytes = entry.destination.total_bytes();
  if (message.header.payload_bytes != expected_bytes) {
    return Status(Code::protocol_error, "daemon answered a read of " +
                                            std::to_string(expected_bytes) + " bytes with " +
                                            std::to_string(message.header.payload_bytes));
  }
  if (expected_bytes == 0) return {};
  word_bytes_ = entry.swapped_word_bytes;
  destination_ = entry.destination;
  arriving_ = entry.sequence;
  cursor_.emplace(destination_);
  return {};
}

Result<bool> ExpectedData::receive(session::MessageReceiver& receiver) {
  const std::uint64_t before = receiver.payload_left();
  OB_ASSIGN_OR_RETURN(const bool complete, receiver.poll_payload(*cursor_, word_bytes_));
  if (complete) cursor_.reset();
  return receiver.payload_left() != before;
}

void ExpectedData::add_failure(QueueId queue, wire::Outcome& outcome) {
  show_failure(queue, outcome);
  failures_.erase(queue.value);
}

void ExpectedData::show_failure(QueueId queue, wire::Outcome& outcome) const {
  const auto failed = failures_.find(queue.value);
  if (failed == failures_.end() || outcome.code != Code::ok) return;
  const auto& [status, sequence] = failed->second;
  outcome.code = status.code();
  outcome.message = status.message();
  outcome.failed_sequence = sequence;
}

}  // namespace ob::client
