#pragma once
// The messages on the control stream.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/stream.hpp"

namespace ob::transport::ucx {

/// A secret that identifies one direction of one connection; only the two ends know it.
using Token = std::array<std::byte, 16>;

/// Makes a new token.   Errors: internal if the system has no random numbers
Result<Token> random_token();

/// The first message of each side.
struct Hello {
  std::string version;             ///< version of UCX
  Token token{};                   ///< part of every message to the sender of the hello
  std::vector<std::byte> address;  ///< UCX's worker address
};

/// The close notice, the last message: the total of bytes sent over UCX.
struct CloseNotice {
  std::uint64_t magic;
  std::uint64_t sent_bytes;
};

inline constexpr std::uint64_t kCloseNoticeMagic = 0x65796265'78637562;

/// The header of a hello on the wire, in the sender's byte order; the address follows.
struct HelloHead {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t address_bytes;
  Token token;
  char version[32];  ///< padded with zeros
};

inline constexpr std::uint64_t kHelloMagic = 0x6f6c6c65'48786375;
inline constexpr std::uint32_t kProtocol = 1;

/// Sends the hello as far as the control stream accepts it. A stream whose peer is not proven yet
/// accepts nothing.
class HelloSender {
 public:
  explicit HelloSender(const Hello& hello);

  bool done() const noexcept { return sent_ == bytes_.size(); }
  /// Sends as much as the control stream accepts now.
  /// Errors: those of the control; internal if version or address are too long
  Status advance(Stream& control);

 private:
  std::vector<std::byte> bytes_;  // empty if the hello is too long
  std::size_t sent_ = 0;
};

/// Receives the peer's hello as it arrives.
class HelloReceiver {
 public:
  /// @param version our own, which the peer must have, too
  explicit HelloReceiver(std::string version) : version_(std::move(version)) {}

  /// Returns nothing while the hello is incomplete.
  /// Errors: version_mismatch naming both releases; unsupported for the other byte order;
  /// protocol_error; connection_lost
  Result<std::optional<Hello>> poll(Stream& control);

 private:
  Status check(const HelloHead& head, const std::string& peer) const;

  const std::string version_;
  std::vector<std::byte> received_;
};

}  // namespace ob::transport::ucx
