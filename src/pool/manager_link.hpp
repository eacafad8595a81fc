#pragma once
// Asks the manager of a pool.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

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

/// Reads the addresses of the managers of a pool, of which one leads: "URL,URL".
/// Errors: those of ManagerAddress::parse()
Result<std::vector<ManagerAddress>> parse_managers(const std::string& urls);

/// One connection to the manager of a pool, made when it is needed and kept for the next request.
/// It finds the one of several managers that leads by asking the next one.
/// Threads: one at a time; interrupt() any
class ManagerLink {
 public:
  /// @param managers at least one
  /// @param security the key of this side; nullptr: none, so that https is refused
  ManagerLink(std::vector<ManagerAddress> managers,
              std::shared_ptr<const transport::Security> security)
      : managers_(std::move(managers)), security_(std::move(security)) {}

  /// Sends a request, and once more on a new connection if the kept one was closed meanwhile: all
  /// requests to a manager may be repeated. If a manager does not answer or does not lead, asks the
  /// others, each once, until the deadline. The next request begins with the one that led, or, if
  /// none did, with the one after the last that was asked.
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

  /// The manager that the next request begins with.
  const std::string& url() const noexcept { return manager().text; }

 private:
  const ManagerAddress& manager() const noexcept { return managers_[at_]; }
  void move_on();
  Result<std::unique_ptr<transport::Stream>> connect(transport::Deadline deadline) const;
  Status ensure_connected(transport::Deadline deadline);
  void disconnect();
  bool interrupted();
  Result<HttpResponse> ask_once(const HttpRequest& request, transport::Deadline deadline);
  Result<HttpResponse> ask_manager(HttpRequest& request, transport::Deadline deadline);

  const std::vector<ManagerAddress> managers_;
  std::size_t at_ = 0;  // the manager that is asked
  const std::shared_ptr<const transport::Security> security_;
  std::mutex mutex_;  // guards changes of stream_, and interrupted_
  std::unique_ptr<transport::Stream> stream_;
  bool interrupted_ = false;
};

}  // namespace ob::pool
