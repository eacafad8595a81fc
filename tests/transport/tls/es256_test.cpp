// Signatures that others made: the example of RFC 7515, A.3, and bytes that are nearly right.

#include "transport/tls/es256.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "support/hex.hpp"

namespace ob::transport::tls {
namespace {

std::string bytes_of(std::string_view hex) {
  const auto bytes = ob::test::from_hex(hex);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The algorithm EC key, the curve prime256v1, and a bit string with an uncompressed point.
const std::string kPrefix = bytes_of("3059301306072a8648ce3d020106082a8648ce3d03010703420004");
const std::string kPoint = bytes_of(
    "7fcdce2770f6c45d4183cbee6fdb4b7b580733357be9ef13bacf6e3c7bd15445"
    "c7f144cd1bbd9b7e872cdfedb9eeb9f4b3695d6ea90b24ad8a4623288588e5ad");
const std::string kSignature = bytes_of(
    "0ed1215379636c483c2f7f155807d402a3b228033af97c7e17819ac3169ea665"
    "c50a07d38c3c70e5d8f12daf084a5480a66590c5f293509a8f3f7f8a83a354d5");
const std::string kText =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNv"
    "bS9pc19yb290Ijp0cnVlfQ";
// The order of P-256 (SEC 2, 2.4.2). A number of a signature is between 1 and this.
const std::string kOrder =
    bytes_of("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");

Es256Key key() { return Es256Key::from_der(kPrefix + kPoint).value(); }

TEST(Es256, VerifiesTheExampleOfTheStandard) {
  EXPECT_TRUE(key().verifies(kText, kSignature));
  EXPECT_FALSE(key().verifies(kText + "x", kSignature));
  EXPECT_FALSE(key().verifies("", kSignature));
}

TEST(Es256, RefusesEachFlippedBitOfASignature) {
  const Es256Key verifier = key();
  for (std::size_t bit = 0; bit < 8 * kSignature.size(); ++bit) {
    std::string flipped = kSignature;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(verifier.verifies(kText, flipped)) << "bit " << bit;
  }
}

TEST(Es256, RefusesSignaturesOfAnotherForm) {
  const std::string r = kSignature.substr(0, 32);
  const std::string s = kSignature.substr(32);
  const std::string zero(32, '\0');
  const std::string most(32, '\xFF');
  const Es256Key verifier = key();
  for (const std::string& wrong :
       {std::string(), r, r + s + "x", kSignature.substr(0, 63), s + r, zero + zero, r + zero,
        zero + s, most + most, r + most, kOrder + s, r + kOrder, kOrder + kOrder}) {
    EXPECT_FALSE(verifier.verifies(kText, wrong)) << wrong.size() << " bytes";
  }
}

TEST(Es256, RefusesOtherKeys) {
  std::string off_the_curve = kPoint;
  off_the_curve[63] ^= 1;
  const std::string compressed = bytes_of("3039301306072a8648ce3d020106082a8648ce3d030107032200") +
                                 "\x03" + kPoint.substr(0, 32);
  std::string other_curve = kPrefix;  // secp256k1 has another object identifier, so it is changed
  other_curve[22] ^= 1;
  for (const std::string& wrong :
       {std::string(), kPoint, kPrefix, kPrefix + kPoint + "x", kPrefix + kPoint.substr(1),
        kPrefix + off_the_curve, kPrefix + std::string(64, '\0'), compressed,
        other_curve + kPoint}) {
    const auto refused = Es256Key::from_der(wrong);
    EXPECT_EQ(refused.status().code(), Code::invalid_argument) << wrong.size() << " bytes";
  }
  EXPECT_TRUE(key().verifies(kText, kSignature)) << "the refused keys left something behind";
}

TEST(Es256, RefusesSignaturesOfAnotherKey) {
  // The point of the generator (SEC 2, 2.4.2), the public key of the private key 1.
  const auto stranger = Es256Key::from_der(
      kPrefix + bytes_of("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
                         "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"));
  ASSERT_TRUE(stranger.ok()) << stranger.status().message();
  EXPECT_FALSE(stranger->verifies(kText, kSignature));
}

}  // namespace
}  // namespace ob::transport::tls
