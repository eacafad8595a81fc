#pragma once
// OpenSSL 3, opened at run time when there is a key: the drop-in library needs nothing but libc at
// load time.

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "base/status.hpp"

namespace ob::transport::tls {

/// The functions that are used here, under the names of their manual pages.
struct OpenSsl {
#define OB_LIBSSL_FUNCTIONS(F)    \
  F(SSL_CTX_check_private_key)    \
  F(SSL_CTX_ctrl)                 \
  F(SSL_CTX_free)                 \
  F(SSL_CTX_get0_certificate)     \
  F(SSL_CTX_load_verify_file)     \
  F(SSL_CTX_new)                  \
  F(SSL_CTX_set_alpn_protos)      \
  F(SSL_CTX_set_alpn_select_cb)   \
  F(SSL_CTX_set_ciphersuites)     \
  F(SSL_CTX_set_client_hello_cb)  \
  F(SSL_CTX_set_num_tickets)      \
  F(SSL_CTX_set_verify)           \
  F(SSL_CTX_use_PrivateKey_file)  \
  F(SSL_CTX_use_certificate_file) \
  F(SSL_client_hello_get0_ext)    \
  F(SSL_ctrl)                     \
  F(SSL_do_handshake)             \
  F(SSL_free)                     \
  F(SSL_get0_alpn_selected)       \
  F(SSL_get0_peer_certificate)    \
  F(SSL_get_verify_result)        \
  F(SSL_new)                      \
  F(SSL_read_ex)                  \
  F(SSL_select_next_proto)        \
  F(SSL_set1_host)                \
  F(SSL_set_accept_state)         \
  F(SSL_set_alpn_protos)          \
  F(SSL_set_bio)                  \
  F(SSL_set_connect_state)        \
  F(SSL_set_purpose)              \
  F(SSL_write_ex)                 \
  F(TLS_method)

#define OB_LIBCRYPTO_FUNCTIONS(F)    \
  F(ASN1_INTEGER_free)               \
  F(ASN1_INTEGER_get_int64)          \
  F(ASN1_STRING_get0_data)           \
  F(ASN1_STRING_length)              \
  F(GENERAL_NAMES_free)              \
  F(OPENSSL_sk_num)                  \
  F(OPENSSL_sk_value)                \
  F(X509_get_ext_d2i)                \
  F(BIO_clear_flags)                 \
  F(BIO_free)                        \
  F(BIO_get_data)                    \
  F(BIO_get_new_index)               \
  F(BIO_meth_new)                    \
  F(BIO_meth_set_ctrl)               \
  F(BIO_meth_set_read_ex)            \
  F(BIO_meth_set_write_ex)           \
  F(BIO_new)                         \
  F(BIO_new_mem_buf)                 \
  F(BIO_set_data)                    \
  F(BIO_set_flags)                   \
  F(BIO_set_init)                    \
  F(BN_bin2bn)                       \
  F(BN_free)                         \
  F(ECDSA_SIG_free)                  \
  F(ECDSA_SIG_new)                   \
  F(ECDSA_SIG_set0)                  \
  F(ERR_peek_last_error)             \
  F(ERR_pop_to_mark)                 \
  F(ERR_reason_error_string)         \
  F(ERR_set_mark)                    \
  F(EVP_DigestVerify)                \
  F(EVP_DigestVerifyInit)            \
  F(EVP_MD_CTX_free)                 \
  F(EVP_MD_CTX_new)                  \
  F(EVP_PKEY_free)                   \
  F(EVP_sha256)                      \
  F(OPENSSL_init_crypto)             \
  F(PEM_read_bio_X509)               \
  F(PEM_read_bio_X509_CRL)           \
  F(X509_CRL_free)                   \
  F(X509_CRL_get0_by_cert)           \
  F(X509_CRL_get_ext_d2i)            \
  F(X509_CRL_verify)                 \
  F(X509_NAME_get_text_by_NID)       \
  F(X509_STORE_CTX_get_current_cert) \
  F(X509_STORE_CTX_get_error_depth)  \
  F(X509_STORE_CTX_set_error)        \
  F(X509_STORE_add_cert)             \
  F(X509_STORE_add_crl)              \
  F(X509_STORE_free)                 \
  F(X509_STORE_new)                  \
  F(X509_STORE_set_flags)            \
  F(X509_check_purpose)              \
  F(X509_free)                       \
  F(X509_get0_pubkey)                \
  F(X509_get_extended_key_usage)     \
  F(X509_get_subject_name)           \
  F(X509_verify_cert_error_string)   \
  F(d2i_PUBKEY)                      \
  F(i2d_ECDSA_SIG)

#define OB_DECLARE(function) decltype(&::function) function = nullptr;
  OB_LIBSSL_FUNCTIONS(OB_DECLARE)
  OB_LIBCRYPTO_FUNCTIONS(OB_DECLARE)
#undef OB_DECLARE

  /// Opens the library once.   Threads: any
  /// Errors: unavailable; the message names the package to install
  static Status load();
  /// Returns the functions.
  /// @pre load().ok()
  static const OpenSsl& get() noexcept;
};

struct FreeSession {
  void operator()(SSL* session) const noexcept { OpenSsl::get().SSL_free(session); }
};
using Session = std::unique_ptr<SSL, FreeSession>;

/// Hides our errors in OpenSSL's error queue from the calling program, and keeps the program's own.
class ErrorScope {
 public:
  ErrorScope() noexcept { OpenSsl::get().ERR_set_mark(); }
  ~ErrorScope() { OpenSsl::get().ERR_pop_to_mark(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;

  /// Returns the last reason of this scope; empty if there is none.
  std::string reason() const;
};

}  // namespace ob::transport::tls
