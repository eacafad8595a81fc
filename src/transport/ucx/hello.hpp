#pragma once
// What the two sides tell each other over the control stream.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/stream.hpp"

namespace ob::transport::ucx {

/// Names one direction of one connection; only its two ends know it.
using Token = std::array<std::byte, 16>;

/// Errors: internal if the system has no random numbers
Result<Token> random_token();

/// The first words of each side.
struct Hello {
  std::string version;             ///< UCX's
  Token token{};                   ///< goes into every message to the speaker
  std::vector<std::byte> address;  ///< UCX's worker address
};

/// The last words: how many bytes were sent over UCX in all.
struct Farewell {
  std::uint64_t magic;
  std::uint64_t sent_bytes;
};

inline constexpr std::uint64_t kFarewellMagic = 0x65796265'78637562;

/// The start of a hello on the wire, in the speaker's byte order; the address follows.
struct HelloHead {
  std::uint64_t magic;
  std::uint32_t protocol;
  std::uint32_t address_bytes;
  Token token;
  char version[32];  ///< padded with zeros
};

inline constexpr std::uint64_t kHelloMagic = 0x6f6c6c65'48786375;
inline constexpr std::uint32_t kProtocol = 1;

/// Says hello as the control takes it: one that has yet to prove its peer takes nothing.
class HelloSender {
 public:
  explicit HelloSender(const Hello& hello);

  bool done() const noexcept { return sent_ == bytes_.size(); }
  /// Sends what the control takes now.
  /// Errors: those of the control; internal if version or address are too long
  Status advance(Stream& control);

 private:
  std::vector<std::byte> bytes_;  // empty: too long
  std::size_t sent_ = 0;
};

/// Takes the peer's hello as it comes.
class HelloReceiver {
 public:
  /// `version` is what the peer's has to be; our own.
  explicit HelloReceiver(std::string version) : version_(std::move(version)) {}

  /// Nothing while the hello is not whole.
  /// Errors: version_mismatch naming both releases; unsupported for the other byte order;
  /// protocol_error; connection_lost
  Result<std::optional<Hello>> poll(Stream& control);

 private:
  Status check(const HelloHead& head, const std::string& peer) const;

  const std::string version_;
  std::vector<std::byte> received_;
};

}  // namespace ob::transport::ucx
