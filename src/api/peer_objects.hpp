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

/// The right of others to use a range of a buffer.
class GivenGrant {
 public:
  GivenGrant(DevicePtr from, GrantId grant) : device(std::move(from)), id(grant) {}
  ~GivenGrant() { (void)device->remote()->revoke_grant(id); }
  GivenGrant(const GivenGrant&) = delete;
  GivenGrant& operator=(const GivenGrant&) = delete;

  const DevicePtr device;
  const GrantId id;
};

/// The kinds of addresses, which begin with these words.
inline constexpr std::string_view kMailboxAddress = "mailbox:";
inline constexpr std::string_view kGrantAddress = "grant:";

/// Returns an address as text: the kind, then "HOST:PORT#KEY", the key as 32 hexadecimal digits.
std::string address_text(std::string_view kind, const Mailbox& address);
/// Errors: invalid_argument if the text is no address of this kind
Result<Mailbox> read_address(std::string_view kind, std::string_view text);

}  // namespace ob::api
