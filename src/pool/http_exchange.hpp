#pragma once
// A strict subset of HTTP/1.1 (RFC 9110, 9112), for the manager of a pool: one request at a time on
// a stream, bodies with Content-Length only, bounded sizes and times.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "transport/stream.hpp"

namespace ob::pool {

/// The most bytes of a response's header, and of its body.
inline constexpr std::size_t kMostHttpBytes = 64 << 10;

struct HttpRequest {
  std::string method;  ///< "GET"
  std::string target;  ///< path and query, encoded
  std::string host;    ///< value of the header Host
  std::string body;    ///< JSON; empty: none
};

struct HttpResponse {
  int status = 0;  ///< 200 to 599
  std::string body;
  bool closes = false;  ///< the other side closes the connection

  bool ok() const noexcept { return status < 300; }
};

/// Reads one response from bytes that arrive in pieces of any size.
/// Refused: versions other than 1.1, interim responses, Transfer-Encoding, a missing or repeated
/// Content-Length, folded lines, control characters, bytes after the body.
class HttpResponseReader {
 public:
  /// Takes the next bytes. Returns the response once it is complete, and takes no more then.
  /// Errors: protocol_error; after one, the reader is useless
  Result<std::optional<HttpResponse>> take(std::string_view bytes);

 private:
  Status read_header();
  Status read_status_line(std::string_view line);
  Status read_field(std::string_view line);
  Status read_length(std::string_view value);

  std::string unread_;      // of the header, then of the body
  std::size_t looked_ = 0;  // so many bytes hold no end of the header
  bool in_body_ = false;
  std::optional<std::size_t> body_bytes_;
  HttpResponse response_;
};

/// Sends a request, and waits for its response.
/// Errors: deadline_exceeded; protocol_error; those of the stream, which is useless afterwards
/// Threads: one at a time for a stream
Result<HttpResponse> exchange(transport::Stream& stream, const HttpRequest& request,
                              transport::Deadline deadline);

/// Returns text as a segment of a path or a value of a query: all bytes but letters, digits and
/// "-._~" are encoded (RFC 3986, 2.1).
std::string percent_encoded(std::string_view text);

}  // namespace ob::pool
