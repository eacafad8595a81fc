#pragma once
// Checks what one side of a connection says while the other side is anything: whole, well-formed
// messages that this side may send now.

#include <functional>

#include "fuzz/input.hpp"
#include "wire/message.hpp"

namespace ob::fuzz {

/// Threads: one at a time
class Speech {
 public:
  enum class Side { client, daemon };
  explicit Speech(Side side) : side_(side) {}

  /// Aborts at the first byte that breaks docs/wire.md.
  void hear(View bytes);
  /// Called with the session's token when a welcome was heard.
  std::function<void(const wire::Token&)> welcomed;
  /// Called with an mailbox's access key when one was opened.
  std::function<void(const wire::Token&)> opened;

 private:
  void hear(const wire::Header& header, View body);
  void hear_client(const wire::Header& header, View body);
  void hear_daemon(const wire::Header& header, View body);

  const Side side_;
  Bytes gathered_;  // of a header and its body
  std::uint64_t payload_left_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t sequence_ = 0;  // of the client's last command
  bool over_ = false;           // the last word was spoken
};

}  // namespace ob::fuzz
