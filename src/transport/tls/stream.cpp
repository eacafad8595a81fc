#include "transport/tls/stream.hpp"

#include <algorithm>
#include <cstring>

#include "transport/detail/parts.hpp"
#include "transport/tls/refusal.hpp"

namespace ob::transport::tls {
namespace {

// Largest payload of a record (RFC 8446, 5.1).
constexpr std::size_t kRecordBytes = 16 << 10;
// Several records for one system call.
constexpr std::size_t kReceiveBytes = 256 << 10;
// After this many bytes the other direction has its turn.
constexpr std::size_t kMostAtOnce = 512 << 10;
// First bytes of handshake and alert records (RFC 8446, 5.1).
constexpr std::byte kHandshakeRecord{22};
constexpr std::byte kAlertRecord{21};

// Returns the application protocol that the handshake agreed on; empty: none.
std::string_view agreed_protocol(const SSL* session) {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  OpenSsl::get().SSL_get0_alpn_selected(session, &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

iovec part(void* bytes, std::size_t size_bytes) noexcept { return {bytes, size_bytes}; }

// The alternative names of a certificate may state rights. OpenSSL defines the functions of a
// GENERAL_NAMES as macros over those of a stack.
std::string stated_kernel_rights(const X509& certificate) {
  constexpr std::string_view kPrefix = "outboard:kernels:";
  const OpenSsl& ssl = OpenSsl::get();
  auto* const names = static_cast<GENERAL_NAMES*>(
      ssl.X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr));
  if (names == nullptr) return {};
  const auto* const stack = reinterpret_cast<const OPENSSL_STACK*>(names);
  std::string rights;
  for (int i = 0; i < ssl.OPENSSL_sk_num(stack); ++i) {
    const auto* const name = static_cast<const GENERAL_NAME*>(ssl.OPENSSL_sk_value(stack, i));
    if (name->type != GEN_URI) continue;
    const ASN1_STRING* const uri = name->d.uniformResourceIdentifier;
    const std::string_view text(reinterpret_cast<const char*>(ssl.ASN1_STRING_get0_data(uri)),
                                static_cast<std::size_t>(ssl.ASN1_STRING_length(uri)));
    if (text.starts_with(kPrefix)) rights = text.substr(kPrefix.size());
  }
  ssl.GENERAL_NAMES_free(names);
  return rights;
}

}  // namespace

std::string common_name(const X509* certificate) {
  if (certificate == nullptr) return {};
  const OpenSsl& ssl = OpenSsl::get();
  char name[65] = {};
  const int length = ssl.X509_NAME_get_text_by_NID(ssl.X509_get_subject_name(certificate),
                                                   NID_commonName, name, sizeof name);
  std::string text(name, length > 0 ? static_cast<std::size_t>(length) : 0);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

TlsStream::TlsStream(Session session, std::unique_ptr<Stream> inner, Side side, Terms terms)
    : inner_(std::move(inner)),
      session_(std::move(session)),
      side_(side),
      terms_(std::move(terms)) {}

std::string TlsStream::peer() const {
  const std::lock_guard lock(mutex_);
  return name_.empty() ? inner_->peer() : inner_->peer() + " (" + name_ + ")";
}

std::string TlsStream::user() const {
  const std::lock_guard lock(mutex_);
  return name_.empty() ? std::string() : user_of_certificate(name_);
}

std::string TlsStream::kernel_rights() const {
  const std::lock_guard lock(mutex_);
  if (name_.empty()) return {};
  const OpenSsl& ssl = OpenSsl::get();
  X509* const certificate = ssl.SSL_get0_peer_certificate(session_.get());
  return certificate == nullptr ? std::string() : stated_kernel_rights(*certificate);
}

bool TlsStream::revoked() const {
  const auto list = terms_.revocations ? terms_.revocations->current() : nullptr;
  if (list == nullptr || state_ == State::shaking_hands) return false;
  const std::lock_guard lock(mutex_);
  X509* const certificate = OpenSsl::get().SSL_get0_peer_certificate(session_.get());
  return certificate != nullptr && list->revokes(certificate);
}

// --- the stream below, for OpenSSL ---------------------------------------------------------------

BIO_METHOD* TlsStream::method() {
  static BIO_METHOD* const made = [] {
    const OpenSsl& ssl = OpenSsl::get();
    BIO_METHOD* fresh =
        ssl.BIO_meth_new(ssl.BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "outboard stream");
    if (fresh == nullptr) return fresh;
    ssl.BIO_meth_set_write_ex(fresh, write);
    ssl.BIO_meth_set_read_ex(fresh, read);
    ssl.BIO_meth_set_ctrl(fresh, control);
    return fresh;
  }();
  return made;
}

// This is not part of the constructor because it can fail.
Status TlsStream::attach_to_inner() {
  const OpenSsl& ssl = OpenSsl::get();
  BIO* const bio = method() != nullptr ? ssl.BIO_new(method()) : nullptr;
  if (bio == nullptr) return {Code::out_of_memory, "no memory for a TLS stream"};
  ssl.BIO_set_data(bio, this);
  ssl.BIO_set_init(bio, 1);
  ssl.SSL_set_bio(session_.get(), bio, bio);
  received_.resize(kReceiveBytes);
  return {};
}

int TlsStream::write(BIO* bio, const char* bytes, std::size_t size_bytes, std::size_t* written) {
  const OpenSsl& ssl = OpenSsl::get();
  auto& self = *static_cast<TlsStream*>(ssl.BIO_get_data(bio));
  ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const iovec all = part(const_cast<char*>(bytes), size_bytes);
  const auto sent = self.inner_->try_send({&all, 1});
  if (!sent.ok()) {
    self.broken_ = sent.status();
    return 0;
  }
  *written = *sent;
  if (*sent != 0) return 1;
  self.blocked_ = Blocked::sending;
  ssl.BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
  return 0;
}

int TlsStream::read(BIO* bio, char* bytes, std::size_t size_bytes, std::size_t* received) {
  const OpenSsl& ssl = OpenSsl::get();
  auto& self = *static_cast<TlsStream*>(ssl.BIO_get_data(bio));
  ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  if (self.begin_ == self.end_) {
    const iovec all = part(self.received_.data(), self.received_.size());
    const auto some = self.inner_->try_receive({&all, 1});
    if (!some.ok()) {
      self.broken_ = some.status();
      return 0;
    }
    self.begin_ = 0;
    self.end_ = *some;
  }
  if (self.begin_ == self.end_) {
    self.blocked_ = Blocked::receiving;
    ssl.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    return 0;
  }
  if (!self.heard_) {
    const std::byte first = self.received_[self.begin_];
    self.heard_ = true;
    self.foreign_ = first != kHandshakeRecord && first != kAlertRecord;
  }
  if (self.foreign_) return 0;
  *received = self.take_received(reinterpret_cast<std::byte*>(bytes), size_bytes);
  return 1;
}

long TlsStream::control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // nothing is buffered
}

std::size_t TlsStream::take_received(std::byte* to, std::size_t size_bytes) noexcept {
  const std::size_t count = std::min(size_bytes, end_ - begin_);
  std::memcpy(to, received_.data() + begin_, count);
  begin_ += count;
  return count;
}

// --- the handshake -------------------------------------------------------------------------------

// mutex_ is held.
Status TlsStream::advance() {
  if (state_ != State::shaking_hands) return {};
  const OpenSsl& ssl = OpenSsl::get();
  if (received_.empty()) OB_RETURN_IF_ERROR(attach_to_inner());
  const ErrorScope errors;
  blocked_ = Blocked::no;
  if (ssl.SSL_do_handshake(session_.get()) != 1) {
    wants_to_send_ = blocked_ == Blocked::sending;
    return blocked_ != Blocked::no ? Status() : failure(errors);
  }
  OB_RETURN_IF_ERROR(take_role());
  return take_protocol();
}

// A client or another daemon may open a stream. OpenSSL can check for one purpose only, so it was
// told to accept any, and the purpose is checked here.
Status TlsStream::take_role() {
  if (side_ == Side::client) return {};
  const OpenSsl& ssl = OpenSsl::get();
  X509* const certificate = ssl.SSL_get0_peer_certificate(session_.get());
  // A daemon that a manager knows has both usages. It opens no sessions for all that.
  from_daemon_ = ssl.X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1;
  if (from_daemon_) return {};
  if (ssl.X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1) return {};
  return {Code::denied, inner_->peer() + " has a certificate that is neither for clients nor for " +
                            "daemons (make keys with `outboard key`)"};
}

// OpenSSL does not demand that the daemon selects a protocol. The mode that it selects counts only
// if this side has it.
Status TlsStream::take_protocol() {
  const std::string_view agreed = agreed_protocol(session_.get());
  const bool plain = terms_.plain && agreed == kPlain;
  if (!plain && agreed != kEncrypted && !terms_.to_manager) {
    return {Code::denied, inner_->peer() +
                              " selected no application protocol that this side offers (it is no "
                              "program of Outboard)"};
  }
  name_ = common_name(OpenSsl::get().SSL_get0_peer_certificate(session_.get()));
  may_have_more_ = true;
  state_ = plain ? State::plain : State::encrypted;
  return {};
}

Status TlsStream::shake_hands(Deadline deadline) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      OB_RETURN_IF_ERROR(advance());
    }
    if (state_ != State::shaking_hands) return {};
    const bool sends = wants_to_send_;
    OB_RETURN_IF_ERROR(inner_->wait(!sends, sends, deadline));
  }
}

// Describes a failure of the handshake, or a later one, in plain words.
Status TlsStream::failure(const ErrorScope& errors) const {
  const OpenSsl& ssl = OpenSsl::get();
  if (foreign_) {
    return side_ == Side::daemon
               ? Status(Code::denied,
                        "this daemon takes only clients with its pool's key (set "
                        "OUTBOARD_KEY to the folder that holds it)")
               : Status(Code::denied, inner_->peer() +
                                          " answers without TLS; start the daemon with --key, or "
                                          "call it without a key");
  }
  const long verified = ssl.SSL_get_verify_result(session_.get());
  if (verified != X509_V_OK) {
    return refused_certificate(inner_->peer(), verified);
  }
  const std::string reason = errors.reason();
  if (reason.empty() && !broken_.ok()) {
    const bool hung_up = side_ == Side::client && state_ == State::shaking_hands;
    if (!hung_up) return broken_;
    return {broken_.code(), inner_->peer() +
                                " ended the connection during the TLS handshake; start the daemon "
                                "with --key, or call it without a key"};
  }
  const std::string text = reason.empty() ? "the connection ended" : reason;
  if (state_ == State::shaking_hands || text.find("alert") != std::string::npos) {
    return failed_handshake(inner_->peer(), text);
  }
  return {Code::connection_lost, "lost the connection to " + inner_->peer() + " (" + text + ")"};
}

// --- data ----------------------------------------------------------------------------------------

Result<std::size_t> TlsStream::try_send(std::span<const iovec> parts) {
  if (state_ == State::plain) return inner_->try_send(parts);
  const std::lock_guard lock(mutex_);
  // Send an alert that the peer can read.
  if (foreign_ && side_ == Side::daemon) return inner_->try_send(parts);
  OB_RETURN_IF_ERROR(advance());
  switch (state_.load()) {
    case State::plain: return inner_->try_send(parts);
    case State::encrypted: return send_encrypted(parts);
    default: return std::size_t{0};
  }
}

Result<std::size_t> TlsStream::send_encrypted(std::span<const iovec> parts) {
  detail::Pieces left(parts);
  std::size_t total = 0;
  while (!left.at_end() && total < kMostAtOnce) {
    const auto sent = send_some(left);
    if (!sent.ok()) return total > 0 ? Result<std::size_t>(total) : sent;
    if (*sent == 0) break;
    left.advance(*sent);
    total += *sent;
  }
  return total;
}

// Sends a record, directly from a large part or gathered from small ones. OpenSSL keeps a record
// that the stream below did not accept, and must be called for it again with at least as many
// bytes. That holds, because a sender that was told 0 offers the same bytes again.
Result<std::size_t> TlsStream::send_some(detail::Pieces& left) {
  std::size_t count = 0;
  const std::span<const iovec> pieces = left.next(kRecordBytes, count);
  const void* bytes = pieces.front().iov_base;
  if (pieces.size() > 1) {
    record_.resize(kRecordBytes);
    std::size_t at = 0;
    for (const iovec& piece : pieces) {
      std::memcpy(record_.data() + at, piece.iov_base, piece.iov_len);
      at += piece.iov_len;
    }
    bytes = record_.data();
  }
  if (count < begun_bytes_) {
    return Status(Code::internal, "bytes that were offered for sending were taken back");
  }
  const ErrorScope errors;
  const OpenSsl& ssl = OpenSsl::get();
  std::size_t sent = 0;
  begun_bytes_ = 0;
  blocked_ = Blocked::no;
  if (ssl.SSL_write_ex(session_.get(), bytes, count, &sent) == 1) return sent;
  if (blocked_ == Blocked::no) return failure(errors);
  begun_bytes_ = count;
  return std::size_t{0};
}

Result<std::size_t> TlsStream::try_receive(std::span<const iovec> parts) {
  if (state_ == State::plain) return receive_plain(parts);
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(advance());
  switch (state_.load()) {
    case State::plain: return receive_plain(parts);
    case State::encrypted: return receive_encrypted(parts);
    default: return std::size_t{0};
  }
}

// The last bytes of the handshake may have arrived together with the first data.
Result<std::size_t> TlsStream::receive_plain(std::span<const iovec> parts) {
  if (begin_ == end_) {
    may_have_more_ = false;
    return inner_->try_receive(parts);
  }
  std::size_t total = 0;
  for (const iovec& one : parts) {
    total += take_received(static_cast<std::byte*>(one.iov_base), one.iov_len);
  }
  may_have_more_ = begin_ != end_;
  return total;
}

Result<std::size_t> TlsStream::receive_encrypted(std::span<const iovec> parts) {
  const OpenSsl& ssl = OpenSsl::get();
  const ErrorScope errors;
  std::size_t total = 0;
  may_have_more_ = true;
  for (const iovec& one : parts) {
    auto* to = static_cast<std::byte*>(one.iov_base);
    for (std::size_t left = one.iov_len; left > 0;) {
      if (total >= kMostAtOnce) return total;
      std::size_t received = 0;
      blocked_ = Blocked::no;
      if (ssl.SSL_read_ex(session_.get(), to, left, &received) != 1) {
        may_have_more_ = false;
        if (total > 0 || blocked_ != Blocked::no) return total;
        return failure(errors);
      }
      to += received;
      left -= received;
      total += received;
    }
  }
  return total;
}

Status TlsStream::wait(bool want_receive, bool want_send, Deadline deadline) {
  if (state_ == State::shaking_hands) {
    {
      const std::lock_guard lock(mutex_);
      OB_RETURN_IF_ERROR(advance());
    }
    if (state_ != State::shaking_hands) return {};
    const bool sends = wants_to_send_;
    return inner_->wait(!sends, sends, deadline);
  }
  if (want_receive && may_have_more_) return {};
  return inner_->wait(want_receive, want_send, deadline);
}

}  // namespace ob::transport::tls
