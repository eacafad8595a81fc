#pragma once
// The data messages that a connection waits for, and the places of their payloads.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/ids.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "session/message_receiver.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// Threads: one at a time.
class ExpectedData {
 public:
  struct Entry {
    std::uint64_t sequence;
    QueueId queue;
    Layout destination;
    std::uint32_t swapped_word_bytes;  ///< 1: the payload is not swapped
  };

  /// Expects the answer to a command that is sent next.
  void expect(const Entry& entry) { entries_.push_back(entry); }

  /// Takes the header and body of a data message, and adds the credits that it returns to
  /// `credits`. The payload follows with receive().
  /// Returns the queue of the command.   Errors: protocol_error if the message was not expected
  Result<QueueId> take(const session::Message& message, std::uint32_t& credits);
  /// Returns the sequence of the first command whose data have not arrived; UINT64_MAX if all have.
  std::uint64_t oldest() const noexcept {
    const std::uint64_t next = entries_.empty() ? UINT64_MAX : entries_.front().sequence;
    return receiving() ? std::min(arriving_, next) : next;
  }
  /// True if a payload is arriving.
  bool receiving() const noexcept { return cursor_.has_value(); }
  /// Receives the bytes of the payload that have arrived; true if there was any.   @pre receiving()
  Result<bool> receive(session::MessageReceiver& receiver);

  /// Copies the first failure of the queue's reads since its last outcome into `outcome`, unless
  /// the outcome has its own failure: a read may fail alone, on its way here.
  void add_failure(QueueId queue, wire::Outcome& outcome);
  /// The same for an outcome after which the queue's failure stays: the next one gets it, too.
  void show_failure(QueueId queue, wire::Outcome& outcome) const;

 private:
  Status begin(const session::Message& message, const Entry& entry);

  std::deque<Entry> entries_;             // by rising sequences
  std::optional<Layout::Cursor> cursor_;  // for the arriving payload
  Layout destination_;                    // for the arriving payload
  std::uint64_t arriving_ = 0;            // the sequence of its command
  std::uint32_t word_bytes_ = 1;
  std::unordered_map<std::uint64_t, std::pair<Status, std::uint64_t>> failures_;  // by queue
};

}  // namespace ob::client
