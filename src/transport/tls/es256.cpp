#include "transport/tls/es256.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "transport/tls/openssl.hpp"

namespace ob::transport::tls {
namespace {

// These bytes precede the point in every key of P-256 with an uncompressed point (RFC 5480, 2): the
// algorithm is an EC key, the curve is prime256v1, and a bit string of 66 bytes follows, whose
// first one says that no bits are unused. The 4 says that the point is uncompressed.
constexpr std::array<unsigned char, 27> kPrefix{
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
    0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04};
constexpr std::size_t kNumberBytes = 32;

const unsigned char* unsigned_bytes_of(std::string_view text) noexcept {
  return reinterpret_cast<const unsigned char*>(text.data());
}

struct FreeSignature {
  void operator()(ECDSA_SIG* signature) const noexcept { OpenSsl::get().ECDSA_SIG_free(signature); }
};
struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const noexcept { OpenSsl::get().EVP_MD_CTX_free(context); }
};

// Writes the signature as OpenSSL reads it: SEQUENCE { r, s } in DER. Returns its length; 0 on
// failure.
std::size_t signature_in_der(std::string_view raw, std::array<unsigned char, 80>& der) noexcept {
  const OpenSsl& ssl = OpenSsl::get();
  const std::unique_ptr<ECDSA_SIG, FreeSignature> signature(ssl.ECDSA_SIG_new());
  BIGNUM* const r = ssl.BN_bin2bn(unsigned_bytes_of(raw), kNumberBytes, nullptr);
  BIGNUM* const s = ssl.BN_bin2bn(unsigned_bytes_of(raw) + kNumberBytes, kNumberBytes, nullptr);
  if (!signature || ssl.ECDSA_SIG_set0(signature.get(), r, s) != 1) {
    ssl.BN_free(r);
    ssl.BN_free(s);
    return 0;
  }
  unsigned char* at = der.data();  // two numbers of 33 bytes, and at most 6 bytes around them
  const int length = ssl.i2d_ECDSA_SIG(signature.get(), &at);
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

}  // namespace

Result<Es256Key> Es256Key::from_der(std::string_view der) {
  OB_RETURN_IF_ERROR(OpenSsl::load());
  const bool known_form =
      der.size() == kPrefix.size() + 2 * kNumberBytes &&
      std::equal(kPrefix.begin(), kPrefix.end(), unsigned_bytes_of(der.substr(0, kPrefix.size())));
  const OpenSsl& ssl = OpenSsl::get();
  const ErrorScope errors;
  const unsigned char* at = unsigned_bytes_of(der);
  EVP_PKEY* const key =
      known_form ? ssl.d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())) : nullptr;
  if (key == nullptr) {
    return Status(Code::invalid_argument,
                  "the public key is refused (it is no point of P-256 in DER) make another key");
  }
  return Es256Key(std::shared_ptr<void>(
      key, [](void* owned) { OpenSsl::get().EVP_PKEY_free(static_cast<EVP_PKEY*>(owned)); }));
}

bool Es256Key::verifies(std::string_view text, std::string_view signature) const noexcept {
  if (signature.size() != 2 * kNumberBytes) return false;
  const OpenSsl& ssl = OpenSsl::get();
  const ErrorScope errors;
  std::array<unsigned char, 80> der{};
  const std::size_t length = signature_in_der(signature, der);
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> digest(ssl.EVP_MD_CTX_new());
  if (length == 0 || !digest) return false;
  return ssl.EVP_DigestVerifyInit(digest.get(), nullptr, ssl.EVP_sha256(), nullptr,
                                  static_cast<EVP_PKEY*>(key_.get())) == 1 &&
         ssl.EVP_DigestVerify(digest.get(), der.data(), length, unsigned_bytes_of(text),
                              text.size()) == 1;
}

}  // namespace ob::transport::tls
