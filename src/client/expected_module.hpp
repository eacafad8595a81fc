#pragma once
// The answer to load_module, while it arrives.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/kernels/module.hpp"
#include "session/message_receiver.hpp"
#include "wire/message.hpp"

namespace ob::client {

/// Threads: one at a time.
class ExpectedModule {
 public:
  using Listener = std::function<void(std::uint64_t sequence, const ModuleReport&)>;

  void set_listener(Listener listener) { listener_ = std::move(listener); }
  /// Takes the header and body of the message. The payload follows with receive().
  /// Errors: protocol_error
  Status take(const session::Message& message);
  /// True if a payload is arriving.
  bool receiving() const noexcept { return cursor_.has_value(); }
  /// Receives the bytes of the payload that have arrived; true if there was any. Calls the listener
  /// after the last one.   Errors: protocol_error   @pre receiving()
  Result<bool> receive(session::MessageReceiver& receiver);

 private:
  Status finish();

  Listener listener_;
  std::uint64_t sequence_ = 0;
  wire::ModuleAnswer answer_;
  std::vector<std::byte> payload_;
  Layout destination_;
  std::optional<Layout::Cursor> cursor_;
};

}  // namespace ob::client
