#pragma once
// Signatures by ES256: ECDSA over P-256 with SHA-256 (RFC 7518, 3.4).

#include <memory>
#include <string_view>

#include "base/status.hpp"

namespace ob::transport::tls {

/// A public key that verifies signatures. Copies share it.   Threads: any
class Es256Key {
 public:
  /// @param der SubjectPublicKeyInfo with an uncompressed point [bytes]
  /// Errors: invalid_argument for other bytes; unavailable without OpenSSL 3, and unsupported in
  ///         a build without its headers
  static Result<Es256Key> from_der(std::string_view der);

  /// Returns whether the owner of the key has signed the text.
  /// @param signature r and s, 32 bytes each; others are wrong
  /// Cost: about 0.1 ms
  bool verifies(std::string_view text, std::string_view signature) const noexcept;

 private:
  explicit Es256Key(std::shared_ptr<void> key) : key_(std::move(key)) {}

  std::shared_ptr<void> key_;  // EVP_PKEY
};

}  // namespace ob::transport::tls
