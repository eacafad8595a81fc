#include <sys/stat.h>

#include <string>

#include "transport/detail/system_error.hpp"
#include "transport/security.hpp"
#include "transport/tls/openssl.hpp"
#include "transport/tls/revocations.hpp"
#include "transport/tls/stream.hpp"

namespace ob::transport {
namespace {

using tls::ErrorScope;
using tls::OpenSsl;
using tls::Session;

// AES-GCM runs at several GB/s on processors with instructions for it.
constexpr const char* kCiphers =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

struct FreeContext {
  void operator()(SSL_CTX* context) const noexcept { OpenSsl::get().SSL_CTX_free(context); }
};
using Context = std::unique_ptr<SSL_CTX, FreeContext>;

// The protocols that a side offers, each name behind its length (RFC 7301, 3.1). They outlive every
// session.
const std::string& offered(bool plain) {
  const auto with_length = [](std::string_view name) {
    return static_cast<char>(name.size()) + std::string(name);
  };
  static const auto* const encrypted = new std::string(with_length(tls::kEncrypted));
  static const auto* const either = new std::string(with_length(tls::kPlain) + *encrypted);
  return plain ? *either : *encrypted;
}

const unsigned char* unsigned_bytes(const std::string& text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

class Key final : public Security {
 public:
  Key(Side side, bool plain) : side_(side), plain_(plain), protocols_(offered(plain)) {}

  std::string name() const override {
    return tls::common_name(OpenSsl::get().SSL_CTX_get0_certificate(context_.get()));
  }
  bool plain() const noexcept override { return plain_; }

  Status load(const std::string& folder) {
    OB_RETURN_IF_ERROR(OpenSsl::load());
    const OpenSsl& ssl = OpenSsl::get();
    const ErrorScope errors;
    context_.reset(ssl.SSL_CTX_new(ssl.TLS_method()));
    if (!context_) return {Code::out_of_memory, "no memory for TLS"};
    SSL_CTX* const context = context_.get();
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, nullptr);
    ssl.SSL_CTX_ctrl(context, SSL_CTRL_MODE,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, nullptr);
    ssl.SSL_CTX_set_ciphersuites(context, kCiphers);
    ssl.SSL_CTX_set_num_tickets(context, 0);  // every connection needs a new proof
    ssl.SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           require_usage);
    ssl.SSL_CTX_set_client_hello_cb(context, require_protocol, nullptr);
    ssl.SSL_CTX_set_alpn_protos(context, unsigned_bytes(protocols_),
                                static_cast<unsigned>(protocols_.size()));
    ssl.SSL_CTX_set_alpn_select_cb(context, select_protocol, const_cast<std::string*>(&protocols_));
    return load_files(folder, errors);
  }

  Result<std::unique_ptr<Stream>> connect_over(std::unique_ptr<Stream> stream,
                                               Deadline deadline) const override {
    return connect_by(std::move(stream), {.plain = plain_}, deadline);
  }

  Result<std::unique_ptr<Stream>> connect_to_manager(std::unique_ptr<Stream> stream,
                                                     Deadline deadline) const override {
    return connect_by(std::move(stream), {.to_manager = true}, deadline);
  }

  Result<std::unique_ptr<Stream>> accept_over(std::unique_ptr<Stream> stream) const override {
    OB_ASSIGN_OR_RETURN(auto secure, over(std::move(stream), Side::daemon, {.plain = plain_}));
    return std::unique_ptr<Stream>(std::move(secure));
  }

  Result<bool> reload_revocations() const override { return revocations_->reload(); }

 private:
  Status load_files(const std::string& folder, const ErrorScope& errors) {
    const OpenSsl& ssl = OpenSsl::get();
    const std::string own = folder + (side_ == Side::client ? "/client" : "/daemon");
    const std::string pool = folder + "/pool.pem";
    const std::string certificate = own + ".pem";
    const std::string key = own + ".key";
    OB_RETURN_IF_ERROR(check_readable(pool, false));
    OB_RETURN_IF_ERROR(check_readable(certificate, false));
    OB_RETURN_IF_ERROR(check_readable(key, true));
    SSL_CTX* const context = context_.get();
    if (ssl.SSL_CTX_load_verify_file(context, pool.c_str()) != 1) return bad(pool, errors);
    if (ssl.SSL_CTX_use_certificate_file(context, certificate.c_str(), SSL_FILETYPE_PEM) != 1) {
      return bad(certificate, errors);
    }
    if (ssl.SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        ssl.SSL_CTX_check_private_key(context) != 1) {
      return bad(key, errors);
    }
    OB_ASSIGN_OR_RETURN(revocations_, tls::RevocationFile::open(folder));
    return {};
  }

  static Status check_readable(const std::string& file, bool is_private) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) {
      return {Code::unavailable,
              "cannot read the key's " + file + " (" + detail::system_text(errno) +
                  "); name the folder of a key, or make one with `outboard key init`"};
    }
    if (is_private && (about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      return {Code::denied, "others may read " + file + " (chmod 600 it, or make a new key if " +
                                "somebody may have read it)"};
    }
    return {};
  }

  static Status bad(const std::string& file, const ErrorScope& errors) {
    return {Code::invalid_argument, "cannot use " + file + " (" + errors.reason() + ")"};
  }

  // OpenSSL accepts a certificate without extended key usage for every purpose. Here it must name a
  // side. OpenSSL then demands that of the daemon, and TlsStream sees which side connects.
  static int require_usage(int verified, X509_STORE_CTX* chain) {
    const OpenSsl& ssl = OpenSsl::get();
    if (verified != 1 || ssl.X509_STORE_CTX_get_error_depth(chain) != 0) return verified;
    const std::uint32_t usages =
        ssl.X509_get_extended_key_usage(ssl.X509_STORE_CTX_get_current_cert(chain));
    const bool names_any = usages != UINT32_MAX && (usages & (XKU_SSL_CLIENT | XKU_SSL_SERVER));
    if (names_any) return 1;
    ssl.X509_STORE_CTX_set_error(chain, X509_V_ERR_INVALID_PURPOSE);
    return 0;
  }

  // OpenSSL asks select_protocol() only if the client offers protocols.
  static int require_protocol(SSL* session, int* alert, void*) {
    const unsigned char* offer = nullptr;
    std::size_t size_bytes = 0;
    const int found = OpenSsl::get().SSL_client_hello_get0_ext(
        session, TLSEXT_TYPE_application_layer_protocol_negotiation, &offer, &size_bytes);
    if (found == 1) return SSL_CLIENT_HELLO_SUCCESS;
    *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
  }

  // Selects the daemon's first protocol that the client offers, too.
  static int select_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                             const unsigned char* theirs, unsigned their_bytes, void* protocols) {
    const std::string& ours = *static_cast<const std::string*>(protocols);
    unsigned char* out = nullptr;
    const int found = OpenSsl::get().SSL_select_next_proto(&out, chosen_bytes, unsigned_bytes(ours),
                                                           static_cast<unsigned>(ours.size()),
                                                           theirs, their_bytes);
    *chosen = out;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
  }

  Result<std::unique_ptr<Stream>> connect_by(std::unique_ptr<Stream> stream, tls::Terms terms,
                                             Deadline deadline) const {
    // A program keeps its key for long. A daemon reloads by itself, and reports what it found.
    if (side_ == Side::client) (void)revocations_->reload();
    OB_ASSIGN_OR_RETURN(auto secure, over(std::move(stream), Side::client, std::move(terms)));
    OB_RETURN_IF_ERROR(secure->shake_hands(deadline));
    return std::unique_ptr<Stream>(std::move(secure));
  }

  // OpenSSL compares the name while it verifies the certificate. Managers of HTTP servers that
  // select protocols know only those of HTTP.
  static bool expect_manager(SSL* session) {
    static constexpr unsigned char kHttp[] = "\x08http/1.1";
    const OpenSsl& ssl = OpenSsl::get();
    return ssl.SSL_set1_host(session, kManagerName) == 1 &&
           ssl.SSL_set_alpn_protos(session, kHttp, sizeof kHttp - 1) == 0;
  }

  // A daemon opens streams to other daemons, too.
  Result<std::unique_ptr<tls::TlsStream>> over(std::unique_ptr<Stream> stream, Side side,
                                               tls::Terms terms) const {
    const OpenSsl& ssl = OpenSsl::get();
    Session session(ssl.SSL_new(context_.get()));
    if (!session) return Status(Code::out_of_memory, "no memory for a TLS stream");
    if (side == Side::client) {
      ssl.SSL_set_connect_state(session.get());
    } else {
      ssl.SSL_set_purpose(session.get(), X509_PURPOSE_ANY);  // TlsStream checks the purpose
      ssl.SSL_set_accept_state(session.get());
    }
    if (terms.to_manager && !expect_manager(session.get())) {
      return Status(Code::out_of_memory, "no memory for a TLS stream");
    }
    if (const auto list = revocations_->current()) list->check(session.get());
    terms.revocations = revocations_;
    return std::make_unique<tls::TlsStream>(std::move(session), std::move(stream), side,
                                            std::move(terms));
  }

  const Side side_;
  const bool plain_;
  const std::string& protocols_;
  Context context_;
  std::shared_ptr<tls::RevocationFile> revocations_;
};

}  // namespace

Result<std::shared_ptr<const Security>> load_key(const std::string& folder, Side side, bool plain) {
  auto key = std::make_shared<Key>(side, plain);
  OB_RETURN_IF_ERROR(key->load(folder));
  return std::shared_ptr<const Security>(std::move(key));
}

}  // namespace ob::transport
