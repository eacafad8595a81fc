#pragma once
// Authentication over a network: both ends of a connection prove that they belong to the pool.

#include <memory>
#include <string>

#include "base/status.hpp"
#include "transport/stream.hpp"

namespace ob::transport {

enum class Side { client, daemon };

/// Returns Stream::user() of a peer whose certificate has this name.
inline std::string user_of_certificate(const std::string& name) { return "certificate " + name; }

/// The name in the certificate of a pool's manager, which no daemon's certificate has.
inline constexpr const char* kManagerName = "manager.outboard.internal";

/// One side's key. It turns a stream to an unknown peer into a stream to a proven member of the
/// pool.   Threads: any
class Security {
 public:
  virtual ~Security() = default;

  /// Returns the name in this side's own certificate, as others see it.
  virtual std::string name() const = 0;
  /// True if data may travel unencrypted.
  virtual bool plain() const noexcept = 0;

  /// Proves both sides to each other; the peer must be a daemon.
  /// Errors: denied; the message names the side that was refused; those of the stream
  virtual Result<std::unique_ptr<Stream>> connect_over(std::unique_ptr<Stream> stream,
                                                       Deadline deadline) const = 0;
  /// Proves both sides to each other; the peer must be the manager of the pool, which speaks HTTP.
  /// Errors: as those of connect_over()
  virtual Result<std::unique_ptr<Stream>> connect_to_manager(std::unique_ptr<Stream> stream,
                                                             Deadline deadline) const = 0;
  /// Accepts a client or a daemon (Stream::from_daemon() tells which). Returns at once: the first
  /// receive or send demands the proof, and fails with denied without it.
  virtual Result<std::unique_ptr<Stream>> accept_over(std::unique_ptr<Stream> stream) const = 0;

  /// Reads the pool's list of revoked members again. It is in force for later handshakes, and
  /// Stream::revoked() tells for earlier ones. An unusable list leaves the one in force, and is
  /// reported once. connect_over() does the same first, without a report.
  /// @returns true if another list is in force now
  /// Errors: unavailable; invalid_argument
  virtual Result<bool> reload_revocations() const = 0;
};

/// Loads the key in `folder` (made by `outboard key`): pool.pem, and client.pem with client.key or
/// daemon.pem with daemon.key. pool.crl, if it is there, lists revoked members. Streams use
/// TLS 1.3; OpenSSL 3 is opened at run time.
/// @param plain lets data travel unencrypted after the proof if the other side agrees; only for
/// networks that nobody else can listen or write to
/// Errors: unavailable if OpenSSL or a file is missing; denied if others may read the private key;
///         invalid_argument if a file has wrong contents
Result<std::shared_ptr<const Security>> load_key(const std::string& folder, Side side, bool plain);

}  // namespace ob::transport
