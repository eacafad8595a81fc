#pragma once
// The spelling of addresses: "HOST:PORT", "[IPV6]:PORT", "unix:PATH", "ucx:HOST:PORT".

#include <optional>
#include <string>
#include <variant>

#include "base/status.hpp"

namespace ob::transport {

struct TcpAddress {
  std::string host;  ///< name or number, IPv6 without brackets
  std::string port;  ///< decimal, 0 to 65535

  /// "HOST:PORT", with brackets around IPv6.
  std::string text() const;
};

struct UnixAddress {
  std::string path;

  /// "unix:PATH"
  std::string text() const { return "unix:" + path; }
};

/// The address at which a connection through UCX is set up.
struct UcxAddress {
  TcpAddress control;

  /// "ucx:HOST:PORT"
  std::string text() const { return "ucx:" + control.text(); }
};

using Address = std::variant<TcpAddress, UnixAddress, UcxAddress>;

/// Parses `text`.
/// Errors: invalid_argument; the message names the fault and the expected form
Result<Address> parse_address(const std::string& text);

/// Returns N if `text` is "fd:N", the address of a Unix socket that the process has inherited.
/// Errors: invalid_argument if a text with this beginning has no such number
Result<std::optional<int>> inherited_socket(const std::string& text);

/// True if the address surely means this machine: loopback numbers, localhost and Unix sockets. A
/// name that merely begins like a loopback address may mean any machine.
bool stays_on_this_machine(const std::string& text);

}  // namespace ob::transport
