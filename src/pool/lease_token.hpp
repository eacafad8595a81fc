#pragma once
// Lease tokens: JWS in compact form, ES256, as the manager of a pool signs them (decision 0041).

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "pool/lease_claims.hpp"
#include "transport/tls/es256.hpp"

namespace ob::pool {

/// The longest token, that of the field `identity` of the message hello.
inline constexpr std::size_t kMostTokenBytes = 1024;

/// A public key of the manager, as the answer to a registration has it.
struct LeaseKey {
  std::string kid;  ///< 16 lowercase hexadecimal digits
  std::string der;  ///< SubjectPublicKeyInfo of P-256 [bytes]
};

/// The keys that may sign tokens now. Without keys, no token is good.   Threads: any, as a value
class LeaseKeys {
 public:
  LeaseKeys() = default;
  /// Errors: invalid_argument for a key of another form; unavailable without OpenSSL 3
  static Result<LeaseKeys> create(const std::vector<LeaseKey>& keys);

  /// Returns the key whose tokens begin with this text; nullptr if there is none.
  /// @param header the one header that the key's tokens have, in base64url
  const transport::tls::Es256Key* find(std::string_view header) const noexcept;

 private:
  std::vector<std::pair<std::string, transport::tls::Es256Key>> keys_;  // by header
};

/// Returns the claims of a token that one of the keys has signed. Does not judge them:
/// LeaseGate::admit() does.
/// Errors: denied; the message says what is wrong with the token, and never quotes it
/// Cost: about 0.1 ms for a token that names a key, far less for other bytes   Threads: any
Result<LeaseClaims> verify_lease_token(std::string_view token, const LeaseKeys& keys);

}  // namespace ob::pool
