// Reads arbitrary lease tokens. The first byte chooses what the others are: a token, its claims, a
// key, or a text in base64. A token is accepted only if its signed text is the one that the key's
// owner has signed. What is accepted has one reading, and numbers within their ranges.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/failure.hpp"
#include "fuzz/lease_samples.hpp"
#include "fuzz/word_mutation.hpp"
#include "pool/base64.hpp"
#include "pool/lease_claims.hpp"
#include "pool/lease_token.hpp"

namespace ob::fuzz {
namespace {

using pool::LeaseClaims;
using pool::LeaseKeys;

// Words that a mutation of bytes would hardly find.
constexpr std::array<std::string_view, 24> kWords{"\"iss\":",
                                                  "\"aud\":",
                                                  "\"dev\":",
                                                  "\"sub\":",
                                                  "\"jti\":",
                                                  "\"epo\":",
                                                  "\"flo\":",
                                                  "\"mod\":",
                                                  "\"mem\":",
                                                  "\"shr\":",
                                                  "\"ses\":",
                                                  "\"rgt\":",
                                                  "\"iat\":",
                                                  "\"exp\":",
                                                  "\"rev\":",
                                                  "\"uid\":",
                                                  "null",
                                                  "-1",
                                                  "9223372036854775808",
                                                  "[[[[",
                                                  "\\ud800",
                                                  ".",
                                                  "==",
                                                  "e5"};

const LeaseKeys& keys() {
  static const LeaseKeys known = [] {
    const auto der = pool::decode_base64(kLeaseKeyDer);
    expect(der.has_value(), "the key is in base64");
    return LeaseKeys::create({{std::string(kLeaseKid), *der}}).value();
  }();
  return known;
}

void check(const LeaseClaims& claims) {
  constexpr std::uint64_t kMost = INT64_MAX;
  expect(std::max({claims.epoch, claims.floor, claims.memory_bytes, claims.share,
                   claims.sessions}) <= kMost,
         "numbers are below 2^63");
  expect(std::min({claims.issued_ms, claims.end_ms, claims.rev}) >= 0, "times are not negative");
  expect(claims.end_ms % 1000 == 0 && claims.issued_ms % 1000 == 0, "times are whole seconds");
}

void read_claims(std::string_view text) {
  const auto claims = pool::parse_lease_claims(text);
  if (!claims.ok()) {
    expect(claims.status().code() == Code::denied && !claims.status().message().empty(),
           "a refusal has words");
    return;
  }
  check(*claims);
  const auto spaced = pool::parse_lease_claims(" " + std::string(text) + "\n");
  expect(spaced.ok() && *spaced == *claims, "spaces around the object mean nothing");
  const std::size_t end = text.find_last_of('}');
  expect(!pool::parse_lease_claims(text.substr(0, end)).ok(), "an object has an end");
  expect(!pool::parse_lease_claims(std::string(text) + "{}").ok(), "nothing follows the object");
}

void read_token(std::string_view token) {
  const auto claims = pool::verify_lease_token(token, keys());
  const std::string_view signed_text = kLeaseToken.substr(0, kLeaseToken.rfind('.'));
  if (token == kLeaseToken) expect(claims.ok(), "the signed token is accepted");
  if (claims.ok()) {
    // The owner of a token can change the signature into another valid one.
    expect(token.substr(0, token.rfind('.')) == signed_text, "nobody else has signed");
    expect(*claims == pool::parse_lease_claims(kLeaseClaims).value(),
           "the claims are those signed");
  } else {
    expect(claims.status().code() == Code::denied, "other tokens are denied");
  }
}

void read_key(std::string_view der) {
  const auto read = transport::tls::Es256Key::from_der(der);
  if (!read.ok()) return;
  expect(der.size() == 91, "a key has one form");
  expect(!read->verifies("text", std::string(64, '\0')), "zeros are no signature");
}

void read_base64(std::string_view text) {
  const std::string encoded = pool::encode_base64url(text);
  expect(pool::decode_base64url(encoded) == text, "encoded bytes come back");
  const auto bytes = pool::decode_base64url(text);
  if (bytes) expect(pool::encode_base64url(*bytes) == text, "bytes have one text");
  (void)pool::decode_base64(text);
}

void read(std::string_view input) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  switch (input[0] & 3) {
    case 0: return read_token(rest);
    case 1: return read_claims(rest);
    case 2: return read_key(rest);
    default: return read_base64(rest);
  }
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ob::fuzz::read({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return ob::fuzz::insert_word(ob::fuzz::kWords, data, size, max_size, seed);
}
