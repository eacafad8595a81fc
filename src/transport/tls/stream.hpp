#pragma once
// A TLS 1.3 stream over any other stream.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "transport/detail/parts.hpp"
#include "transport/security.hpp"
#include "transport/tls/openssl.hpp"
#include "transport/tls/revocations.hpp"

namespace ob::transport::tls {

/// The application protocols that the handshake can agree on; they tell how data travel afterwards.
inline constexpr std::string_view kEncrypted = "outboard";
inline constexpr std::string_view kPlain = "outboard-plain";

/// Returns the name in a certificate, at most 64 bytes, in printable characters; empty without one.
std::string common_name(const X509* certificate);

/// The terms of this side.
struct Terms {
  bool plain = false;       ///< data may travel unencrypted
  bool to_manager = false;  ///< the peer is a manager, which need not select a protocol
  /// The list that tells whether the peer was revoked later; nullptr: none.
  std::shared_ptr<const RevocationFile> revocations = nullptr;
};

/// Encrypts bytes or, after a handshake that agreed on kPlain, forwards them unencrypted. Every
/// call of send, receive or wait advances the handshake.
class TlsStream final : public Stream {
 public:
  /// @param session a new session that knows its side
  /// @param side the role of this end: client, if it opened the stream
  TlsStream(Session session, std::unique_ptr<Stream> inner, Side side, Terms terms = {});

  /// Completes the handshake.   Errors: denied; deadline_exceeded; those of the stream below
  Status shake_hands(Deadline deadline);

  Result<std::size_t> try_send(std::span<const iovec> parts) override;
  Result<std::size_t> try_receive(std::span<const iovec> parts) override;
  Status wait(bool want_receive, bool want_send, Deadline deadline) override;
  bool shares_memory() const noexcept override { return false; }
  Status send_segment(int fd) override { return inner_->send_segment(fd); }
  Result<Segment> receive_segment(Deadline deadline) override {
    return inner_->receive_segment(deadline);
  }
  void shut_down() noexcept override { inner_->shut_down(); }
  void discard_unsent_at_end() noexcept override { inner_->discard_unsent_at_end(); }
  /// Names the peer, with the name in its certificate once proven: "10.0.0.3:7770 (ada)".
  std::string peer() const override;
  std::string user() const override;
  std::string kernel_rights() const override;
  bool from_daemon() const override { return from_daemon_; }
  bool revoked() const override;
  bool intact() const noexcept override { return inner_->intact(); }
  bool has_unread() const noexcept override { return inner_->has_unread(); }
  bool peer_is_gone() const noexcept override { return inner_->peer_is_gone(); }
  bool was_closed_by_peer() const noexcept override { return inner_->was_closed_by_peer(); }
  int descriptor() const noexcept override { return inner_->descriptor(); }

 private:
  enum class State : std::uint8_t { shaking_hands, encrypted, plain };

  Status advance();
  Status take_role();
  Status take_protocol();
  Status attach_to_inner();
  Status failure(const ErrorScope& errors) const;
  Result<std::size_t> send_encrypted(std::span<const iovec> parts);
  Result<std::size_t> send_some(detail::Pieces& left);
  Result<std::size_t> receive_encrypted(std::span<const iovec> parts);
  Result<std::size_t> receive_plain(std::span<const iovec> parts);
  std::size_t take_received(std::byte* to, std::size_t size_bytes) noexcept;

  static BIO_METHOD* method();
  static int write(BIO* bio, const char* bytes, std::size_t size_bytes, std::size_t* written);
  static int read(BIO* bio, char* bytes, std::size_t size_bytes, std::size_t* received);
  static long control(BIO* bio, int command, long number, void* pointer);

  const std::unique_ptr<Stream> inner_;
  const Session session_;
  const Side side_;
  const Terms terms_;
  std::atomic<State> state_{State::shaking_hands};
  std::atomic<bool> wants_to_send_{false};  // the handshake needs room
  std::atomic<bool> from_daemon_{false};
  std::atomic<bool> may_have_more_{false};  // bytes may be received without waiting
  mutable std::mutex mutex_;                // guards session_ and all below
  Status broken_;                           // the final error of the stream below
  std::string name_;                        // name of the proven peer
  std::vector<std::byte> received_;         // [begin_, end_) is not decrypted yet
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  enum class Blocked : std::uint8_t { no, receiving, sending };
  // Results of the stream below in the last call of OpenSSL. SSL_get_error() cannot be used,
  // because it reads errors of the thread, which may belong to the calling program.
  Blocked blocked_ = Blocked::no;
  bool heard_ = false;             // the peer has sent something
  bool foreign_ = false;           // the peer does not speak TLS
  std::vector<std::byte> record_;  // gathered from small parts
  std::size_t begun_bytes_ = 0;    // size of a record that the stream below has not accepted yet
};

}  // namespace ob::transport::tls
