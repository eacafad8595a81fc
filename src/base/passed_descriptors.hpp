#pragma once
// Descriptors that travel beside the bytes of a message of a Unix socket.

#include <sys/socket.h>

#include "base/fd.hpp"

namespace ob {

/// The part of one message that carries descriptors. A sender attaches one. A receiver offers room
/// for more than one, so that surplus ones arrive and can be closed.
/// Source: unix(7), cmsg(3)
class PassedDescriptors {
 public:
  PassedDescriptors() noexcept = default;
  PassedDescriptors(const PassedDescriptors&) = delete;
  PassedDescriptors& operator=(const PassedDescriptors&) = delete;

  /// Lets `message` carry `fd`, which stays the caller's. This object must outlive the message.
  void attach(msghdr& message, int fd) noexcept;
  /// Lets `message` receive descriptors. This object must outlive the message.
  void offer(msghdr& message) noexcept;
  /// Takes the descriptors of a received message: keeps the first one, and closes the others.
  /// Returns their number.   @pre offer(message) was called
  static int take(msghdr& message, Fd& first) noexcept;

 private:
  static constexpr int kMost = 4;
  alignas(cmsghdr) char bytes_[CMSG_SPACE(kMost * sizeof(int))] = {};
};

/// Sends a message of one byte with a descriptor, which stays the caller's. Returns false and sets
/// errno if the socket is closed or full.
bool send_descriptor(int socket, int fd) noexcept;
/// Receives such a message. Returns no descriptor if none has come.
Fd receive_descriptor(int socket) noexcept;

}  // namespace ob
