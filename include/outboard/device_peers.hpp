// Copies from device to device: messages between mailboxes. Included by outboard/device.hpp.
#ifndef OUTBOARD_DEVICE_PEERS_HPP
#define OUTBOARD_DEVICE_PEERS_HPP

#include <outboard/device.hpp>

#include <cstdint>
#include <string>

namespace outboard {

/// Copies a rectangle between buffers of two devices (ob_copy_between). Each queue is held until
/// its part is done.
inline void copy_between(const Queue& from_queue, ob_place from, const Queue& to_queue, ob_place to,
                         const ob_rect& rect) {
  check(ob_copy_between(from_queue.get(), from, to_queue.get(), to, &rect));
}
/// Copies bytes that lie one after another.
inline void copy_between(const Queue& from_queue, ob_place from, const Queue& to_queue, ob_place to,
                         std::uint64_t bytes) {
  copy_between(from_queue, from, to_queue, to, ob_rect{bytes, 1, bytes, bytes, 1, 0});
}

/// A link of a device to another device's mailbox.
class Peer : public Owner<ob_peer, ob_peer_disconnect> {
 public:
  Peer(const Device& device, const std::string& address) : Owner(connect(device, address)) {}

  /// Sends a rectangle (ob_send).   @param sent marks when the source may change; or nullptr
  void send(const Queue& queue, std::uint64_t number, ob_place from, const ob_rect& rect,
            const Event* sent = nullptr) const {
    check(
        ob_send(queue.get(), get(), number, from, &rect, sent == nullptr ? nullptr : sent->get()));
  }

 private:
  static ob_peer connect(const Device& device, const std::string& address) {
    ob_peer peer = nullptr;
    check(ob_peer_connect(device.get(), address.c_str(), &peer));
    return peer;
  }
};

/// The mailbox of a device.
class Mailbox : public Owner<ob_mailbox, ob_mailbox_close> {
 public:
  explicit Mailbox(const Device& device) {
    char text[OB_ADDRESS_BYTES];
    ob_mailbox made = nullptr;
    check(ob_mailbox_open(device.get(), text, &made));
    Owner::operator=(Owner(made));
    address_ = text;
  }

  /// The address for peers, a secret.
  const std::string& address() const noexcept { return address_; }
  /// Receives a rectangle (ob_receive).
  /// @param arrived marks the arrival; nullptr: the queue waits   @param next forwards; or nullptr
  void receive(const Queue& queue, std::uint64_t number, ob_place to, const ob_rect& rect,
               const Event* arrived = nullptr, const Peer* next = nullptr) const {
    check(ob_receive(queue.get(), get(), number, to, &rect, next == nullptr ? nullptr : next->get(),
                     arrived == nullptr ? nullptr : arrived->get()));
  }

 private:
  std::string address_;
};

/// The right of others to use a range of a buffer.
class Grant : public Owner<ob_grant, ob_grant_revoke> {
 public:
  /// @param may OB_MAY_READ, OB_MAY_WRITE   @param uses 0: any number   (ob_grant_create)
  Grant(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, std::uint32_t may,
        std::uint32_t seconds, std::uint32_t uses = 0, const char* user = nullptr) {
    char text[OB_ADDRESS_BYTES];
    ob_grant made = nullptr;
    check(ob_grant_create(buffer.get(), offset, bytes, may, user, seconds, uses, text, &made));
    Owner::operator=(Owner(made));
    address_ = text;
  }

  /// The address for put() and get(), a secret.
  const std::string& address() const noexcept { return address_; }
  /// Holds the queue until so many puts have landed.
  void hold(const Queue& queue, std::uint64_t landed) const {
    check(ob_grant_wait(get(), queue.get(), landed));
  }

 private:
  std::string address_;
};

/// Copy bytes to or from the range of a grant (ob_put, ob_get). The queue is held until they have
/// landed.
inline void put(const Queue& queue, const std::string& address, std::uint64_t offset, ob_place from,
                std::uint64_t bytes, const Event* landed = nullptr) {
  check(ob_put(queue.get(), address.c_str(), offset, from, bytes,
               landed == nullptr ? nullptr : landed->get()));
}
inline void get(const Queue& queue, const std::string& address, std::uint64_t offset, ob_place to,
                std::uint64_t bytes, const Event* landed = nullptr) {
  check(ob_get(queue.get(), address.c_str(), offset, to, bytes,
               landed == nullptr ? nullptr : landed->get()));
}

}  // namespace outboard

#endif
