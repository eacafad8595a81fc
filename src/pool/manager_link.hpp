#pragma once
// Asks the manager of a pool.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "pool/http_exchange.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::pool {

/// A refusal of the manager (RFC 9457).
struct Problem {
  std::string name;    ///< the last word of its type, "lease-over"; empty: it gave none
  std::string detail;  ///< problem (why) suggestion
};

/// Returns what an answer with a status of 400 or more says.
Problem problem_of(const HttpResponse& response);

/// The address of a manager.
struct ManagerAddress {
  std::string text;     ///< as users write it
  std::string address;  ///< as transport::connect_plainly() takes it
  bool secure = false;  ///< inside TLS

  /// Reads "https://HOST:PORT", "http://HOST:PORT" for addresses of this machine, or "unix:PATH".
  /// The port may be left out: 7780.
  /// Errors: invalid_argument; denied for http to another machine
  static Result<ManagerAddress> parse(const std::string& url);
};

/// One connection to a manager, made when it is needed and kept for the next request.
/// Threads: one at a time; interrupt() any
class ManagerLink {
 public:
  /// @param security the key of this side; nullptr: none, so that https is refused
  ManagerLink(ManagerAddress address, std::shared_ptr<const transport::Security> security)
      : address_(std::move(address)), security_(std::move(security)) {}

  /// Sends a request, and once more on a new connection if the kept one was closed meanwhile: all
  /// requests to a manager may be repeated.
  /// @param body JSON; empty: none
  /// @returns any answer, also a refusal
  /// Errors: unavailable, deadline_exceeded, connection_lost, protocol_error, denied: nobody knows
  /// whether the manager has done it. The message names the manager.
  Result<HttpResponse> ask(std::string_view method, std::string_view target, std::string body,
                           transport::Deadline deadline);

  /// Makes a request that is under way, and all later ones, fail with connection_lost. A connection
  /// that is being made still takes until its deadline.
  void interrupt() noexcept;
  /// Allows requests again.
  void resume();

  const std::string& url() const noexcept { return address_.text; }

 private:
  Result<std::unique_ptr<transport::Stream>> connect(transport::Deadline deadline) const;
  Status ensure_connected(transport::Deadline deadline);
  void disconnect();
  Result<HttpResponse> ask_once(const HttpRequest& request, transport::Deadline deadline);

  const ManagerAddress address_;
  const std::shared_ptr<const transport::Security> security_;
  std::mutex mutex_;  // guards changes of stream_, and interrupted_
  std::unique_ptr<transport::Stream> stream_;
  bool interrupted_ = false;
};

}  // namespace ob::pool
