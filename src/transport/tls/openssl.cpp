#include "transport/tls/openssl.hpp"

#include <dlfcn.h>

#include "base/contract.hpp"

namespace ob::transport::tls {
namespace {

constexpr const char* kSsl = "libssl.so.3";
constexpr const char* kCrypto = "libcrypto.so.3";

template <class Function>
bool find_openssl_function(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// Opens the library for good: streams may end in late destructors.
Result<OpenSsl> open_openssl() {
  void* const ssl = ::dlopen(kSsl, RTLD_NOW | RTLD_LOCAL);
  void* const crypto = ::dlopen(kCrypto, RTLD_NOW | RTLD_LOCAL);
  if (ssl == nullptr || crypto == nullptr) {
    const char* const why = ::dlerror();
    return Status(Code::unavailable, std::string("cannot open OpenSSL 3 (") +
                                         (why != nullptr ? why : "no reason given") +
                                         ") install it (Debian: libssl3)");
  }
  OpenSsl found;
  const char* missing = nullptr;
#define OB_FIND_SSL(function) \
  if (!find_openssl_function(ssl, #function, found.function)) missing = #function;
#define OB_FIND_CRYPTO(function) \
  if (!find_openssl_function(crypto, #function, found.function)) missing = #function;
  OB_LIBSSL_FUNCTIONS(OB_FIND_SSL)
  OB_LIBCRYPTO_FUNCTIONS(OB_FIND_CRYPTO)
#undef OB_FIND_SSL
#undef OB_FIND_CRYPTO
  if (missing == nullptr) {
    // Connections may be made or used by threads until the process ends. OpenSSL's handler at exit
    // would free what they use. If the program initialized OpenSSL before, this has no effect.
    (void)found.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    return found;
  }
  return Status(Code::unavailable,
                std::string("the OpenSSL found has no ") + missing + " (version 3 is needed)");
}

const Result<OpenSsl>& opened() {
  static const Result<OpenSsl>* const once = new Result<OpenSsl>(open_openssl());
  return *once;
}

}  // namespace

Status OpenSsl::load() { return opened().status(); }

const OpenSsl& OpenSsl::get() noexcept {
  OB_EXPECT(load().ok());
  return opened().value();
}

std::string ErrorScope::reason() const {
  const OpenSsl& ssl = OpenSsl::get();
  const unsigned long code = ssl.ERR_peek_last_error();
  const char* const text = code != 0 ? ssl.ERR_reason_error_string(code) : nullptr;
  return text != nullptr ? text : "";
}

}  // namespace ob::transport::tls
