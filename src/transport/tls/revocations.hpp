#pragma once
// The pool's list of revoked members (an X.509 CRL), which lies beside the key as pool.crl.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "transport/tls/openssl.hpp"

namespace ob::transport::tls {

template <class Object>
struct Free {
  void operator()(Object* object) const noexcept;
};
template <>
void Free<ASN1_INTEGER>::operator()(ASN1_INTEGER* object) const noexcept;
template <>
void Free<BIO>::operator()(BIO* object) const noexcept;
template <>
void Free<X509>::operator()(X509* object) const noexcept;
template <>
void Free<X509_CRL>::operator()(X509_CRL* object) const noexcept;
template <>
void Free<X509_STORE>::operator()(X509_STORE* object) const noexcept;
template <class Object>
using Owned = std::unique_ptr<Object, Free<Object>>;

/// One list, signed by the pool.   Threads: any
class RevocationList {
 public:
  /// @param pem the list
  /// Errors: invalid_argument if it is no list, or if `pool` has not signed it
  static Result<std::shared_ptr<const RevocationList>> create(X509* pool, const std::string& pem);

  /// Makes the handshake of `session` refuse revoked peers. After the list's own end (nextUpdate)
  /// it refuses all peers.
  void check(SSL* session) const noexcept;
  bool revokes(X509* certificate) const noexcept;
  /// The CRL number (RFC 5280, 5.2.3); 0 if it has none.
  std::int64_t number() const noexcept { return number_; }

 private:
  RevocationList(Owned<X509_CRL> list, Owned<X509_STORE> store);

  const Owned<X509_CRL> list_;
  const Owned<X509_STORE> store_;  // the pool's certificate and the list
  const std::int64_t number_;
};

/// The list in a key folder.   Threads: any
class RevocationFile {
 public:
  /// Reads the list. A folder without a list revokes nobody.
  /// Errors: those of RevocationList::create(); unavailable if a file cannot be read
  static Result<std::shared_ptr<RevocationFile>> open(const std::string& folder);

  /// Reads the list again. A list that is missing, unusable or older than the one in force leaves
  /// the latter in force, and is reported once.
  /// @returns true if another list is in force now
  /// Errors: unavailable; invalid_argument
  Result<bool> reload();
  /// Returns the list in force; nullptr: none.
  std::shared_ptr<const RevocationList> current() const;

 private:
  struct Contents {
    bool present = false;
    std::string text;
    Status failure;
  };

  RevocationFile(std::string path, Owned<X509> pool);
  Result<bool> take(const Contents& contents);

  const std::string path_;
  const Owned<X509> pool_;
  mutable std::mutex mutex_;  // guards all below
  Contents seen_;
  std::shared_ptr<const RevocationList> current_;
};

}  // namespace ob::transport::tls
