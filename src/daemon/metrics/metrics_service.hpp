#pragma once
// Serves the metrics of a daemon over HTTP.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/status.hpp"

namespace ob::daemon {

/// Answers GET /metrics, one request per connection, on a thread of its own, so that its clients
/// cannot hold up those of the daemon. It keeps a bounded number of connections and bytes for them,
/// and closes each after kLongest.
/// Threads: any
class MetricsService {
 public:
  /// Few programs read metrics, and each of them opens one connection at a time.
  static constexpr unsigned kMostConnections = 32;
  /// A request and its headers must fit; those of Prometheus take less than 1 KiB.
  static constexpr std::size_t kConnectionBytes = 8192;
  /// From the accept of a connection to its end.
  static constexpr std::chrono::seconds kLongest{5};
  /// A text is told again for this time, so that many requests cost little.
  static constexpr std::chrono::milliseconds kFresh{50};

  /// Listens on "HOST:PORT" or "[IPV6]:PORT"; port 0 picks a free one.
  /// @param text the metrics; it is called on the service's thread and may throw bad_alloc
  /// Errors: invalid_argument for another form of address; unavailable if the address is taken, or
  ///         without libmicrohttpd; unsupported in a build without its headers
  static Result<std::unique_ptr<MetricsService>> create(const std::string& address,
                                                        std::function<std::string()> text);
  /// Ends all connections.
  virtual ~MetricsService() = default;
  /// Returns the bound address, "http://127.0.0.1:9464/metrics".
  virtual std::string url() const = 0;
};

}  // namespace ob::daemon
