#pragma once
// Checks that one side of a connection sends only whole, well-formed messages that the protocol
// allows at this time, whatever it receives.

#include <functional>

#include "fuzz/input.hpp"
#include "wire/message.hpp"

namespace ob::fuzz {

/// Threads: one at a time
class MessageChecker {
 public:
  enum class Side { client, daemon };
  explicit MessageChecker(Side side) : side_(side) {}

  /// Aborts at the first byte that breaks docs/wire.md.
  void check(View bytes);
  /// Runs at a welcome, with the session's token.
  std::function<void(const wire::Token&)> on_welcome;
  /// Runs when a mailbox is opened, with its access key.
  std::function<void(const wire::Token&)> on_mailbox;

 private:
  void check(const wire::Header& header, View body);
  void check_client(const wire::Header& header, View body);
  void check_daemon(const wire::Header& header, View body);

  const Side side_;
  Bytes gathered_;  // the bytes of a header and its body so far
  std::uint64_t payload_left_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t sequence_ = 0;  // sequence of the client's last command
  bool over_ = false;           // no message may follow
};

}  // namespace ob::fuzz
