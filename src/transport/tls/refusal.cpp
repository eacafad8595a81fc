#include "transport/tls/refusal.hpp"

#include <string_view>

#include "transport/tls/openssl.hpp"

namespace ob::transport::tls {
namespace {

struct Advice {
  std::string_view reason;  // a part of OpenSSL's text, which differs between versions
  std::string_view says;    // follows the name of the peer
  std::string_view advice;
};

// The alerts of RFC 8446, 6.2, with which the other side refuses this one, and the failures of this
// side's own callbacks.
constexpr Advice kHandshake[] = {
    {"alert certificate revoked", " refuses this key", "it was revoked; ask who keeps the pool"},
    {"alert unsupported certificate", " refuses this key",
     "its certificate names no usage of this side; make it again with `outboard key add`"},
    {"alert certificate expired", " refuses this key",
     "the certificate, or the other side's list of revoked members, has expired"},
    {"callback failed", " names no application protocol", "it is no program of Outboard"},
    {"no application protocol", " and this side share no application protocol",
     "check that both are programs of Outboard, of one release"},
};

}  // namespace

Status refused_certificate(const std::string& peer, long verified) {
  const std::string why = OpenSsl::get().X509_verify_cert_error_string(verified);
  switch (verified) {
    case X509_V_ERR_INVALID_PURPOSE:
      return {Code::denied, peer + " has a certificate without the usage of its side (" + why +
                                "); make it again with `outboard key add`"};
    case X509_V_ERR_HOSTNAME_MISMATCH:
      return {Code::denied, peer +
                                " is no manager of this pool (its certificate has other names); "
                                "make its key with `outboard key add manager`"};
    case X509_V_ERR_CERT_REVOKED:
      return {Code::denied, peer + " is revoked (pool.crl lists its certificate)"};
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
      return {Code::denied, "cannot tell whether " + peer + " is revoked (pool.crl: " + why +
                                "); copy a newer list from the pool's folder, or set the clock"};
    default:
      return {Code::denied, peer + " has no certificate of this key's pool (" + why +
                                "); give both sides keys of one pool"};
  }
}

Status failed_handshake(const std::string& peer, const std::string& reason) {
  for (const Advice& known : kHandshake) {
    if (reason.find(known.reason) == std::string::npos) continue;
    return {Code::denied,
            peer + std::string(known.says) + " (" + reason + "); " + std::string(known.advice)};
  }
  return {Code::denied, peer + " and this side do not trust each other (" + reason +
                            "); give both sides keys of one pool"};
}

}  // namespace ob::transport::tls
