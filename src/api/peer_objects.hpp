#pragma once
// Mailboxes and peers behind the handles, and the text of their addresses.

#include <string>
#include <string_view>
#include <utility>

#include "api/objects.hpp"
#include "base/status.hpp"
#include "device/peering.hpp"

namespace ob::api {

/// The mailbox of a device, as the program opened it.
class OpenMailbox {
 public:
  explicit OpenMailbox(DevicePtr from) : device(std::move(from)) {}
  ~OpenMailbox() { (void)device->copies().close(); }
  OpenMailbox(const OpenMailbox&) = delete;
  OpenMailbox& operator=(const OpenMailbox&) = delete;

  const DevicePtr device;
};

/// A link of a device to another device's mailbox.
class ConnectedPeer {
 public:
  ConnectedPeer(DevicePtr from, PeerId peer) : device(std::move(from)), id(peer) {}
  ~ConnectedPeer() { (void)device->remote()->disconnect(id); }
  ConnectedPeer(const ConnectedPeer&) = delete;
  ConnectedPeer& operator=(const ConnectedPeer&) = delete;

  const DevicePtr device;
  const PeerId id;
};

/// Returns the address as text: "mailbox:HOST:PORT#KEY", the key as 32 hexadecimal digits.
std::string address_text(const Mailbox& mailbox);
/// Errors: invalid_argument if the text is not such an address
Result<Mailbox> mailbox_at(std::string_view text);

}  // namespace ob::api
