#pragma once
// Who may talk to whom over a network: what both ends of a pool prove to each other.

#include <memory>
#include <string>

#include "base/status.hpp"
#include "transport/stream.hpp"

namespace ob::transport {

enum class Side { client, daemon };

/// One side's key. Turns streams that anybody may have opened into streams to a proven member of
/// the pool. Threads: any
class Security {
 public:
  virtual ~Security() = default;

  /// True if data may travel as they are.
  virtual bool plain() const noexcept = 0;

  /// Proves both sides to each other; the other one is to be a daemon.
  /// Errors: denied, saying which side was not believed; those of the stream.
  virtual Result<std::unique_ptr<Stream>> connect_over(std::unique_ptr<Stream> stream,
                                                       Deadline deadline) const = 0;
  /// From clients and daemons (Stream::from_daemon() tells). Returns at once: the proof is demanded
  /// by the first receive or send, which fail with denied.
  virtual Result<std::unique_ptr<Stream>> accept_over(std::unique_ptr<Stream> stream) const = 0;
};

/// The key in `folder` (made by `outboard key`): pool.pem, and client.pem with client.key or
/// daemon.pem with daemon.key.
/// Streams are TLS 1.3; opens OpenSSL 3 at run time.
/// @param plain both sides prove themselves, then data travel as they are if the other side agrees;
/// for networks that nobody else can listen or write to.
/// Errors: unavailable if OpenSSL or a file is missing; denied if others may read the private key;
/// invalid_argument if a file is not what it should be.
Result<std::shared_ptr<const Security>> load_key(const std::string& folder, Side side, bool plain);

}  // namespace ob::transport
