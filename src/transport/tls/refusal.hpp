#pragma once
// The reasons for which a TLS handshake fails, in words that say what to do.

#include <string>

#include "base/status.hpp"

namespace ob::transport::tls {

/// Describes a certificate that this side does not accept.
/// @param verified the result of the verification, X509_V_ERR_*
/// Errors: denied
Status refused_certificate(const std::string& peer, long verified);

/// Describes a handshake that ended without a doubt about the certificate of the peer.
/// @param reason OpenSSL's; it names the alert if the peer refuses this side
/// Errors: denied
Status failed_handshake(const std::string& peer, const std::string& reason);

}  // namespace ob::transport::tls
