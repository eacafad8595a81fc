// The examples of RFC 4648, random bytes, and texts that are not written in the one way.

#include "pool/base64.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "support/random.hpp"

namespace ob::pool {
namespace {

using ob::test::uniform;

// RFC 4648, 10: without and with padding.
const std::pair<const char*, const char*> kExamples[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};

std::string without_padding(std::string text) {
  text.erase(std::find(text.begin(), text.end(), '='), text.end());
  return text;
}

TEST(Base64, AnswersTheExamplesOfTheStandard) {
  for (const auto& [bytes, text] : kExamples) {
    EXPECT_EQ(encode_base64url(bytes), without_padding(text));
    EXPECT_EQ(decode_base64url(without_padding(text)), bytes);
    EXPECT_EQ(decode_base64(text), bytes);
  }
  EXPECT_EQ(encode_base64url("\xFB\xEF\xFF"), "--__");
  EXPECT_EQ(decode_base64url("--__"), "\xFB\xEF\xFF");
  EXPECT_EQ(decode_base64("++//"), "\xFB\xEF\xFF");
}

// One bit after the other, to compare with.
std::string slow_decode(const std::string& text) {
  static const std::string kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes(text.size() * 6 / 8, '\0');
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::size_t value = kLetters.find(text[bit / 6]);
    if ((value >> (5 - bit % 6) & 1) != 0) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] | 0x80 >> bit % 8);
    }
  }
  return bytes;
}

TEST(Base64, BringsRandomBytesBack) {
  auto random = ob::test::fresh_random();
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(uniform<std::size_t>(random, 0, 100), '\0');
    for (char& byte : bytes) byte = static_cast<char>(uniform(random, -128, 127));
    const std::string text = encode_base64url(bytes);
    EXPECT_EQ(slow_decode(text), bytes);
    EXPECT_EQ(decode_base64url(text), bytes);
  }
}

TEST(Base64, HasOneTextForTheSameBytes) {
  auto random = ob::test::fresh_random();
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(uniform<std::size_t>(random, 0, 6), '\0');
    for (char& letter : text) letter = "AQgwZ9-_+/=. \n\xFF"[uniform(random, 0, 14)];
    const auto bytes = decode_base64url(text);
    if (!bytes) continue;
    ++accepted;
    EXPECT_EQ(encode_base64url(*bytes), text);
  }
  EXPECT_GT(accepted, 100);
}

TEST(Base64, RefusesOtherTexts) {
  for (const char* wrong :
       {"Z", "Zg==", "Zm8=", "Zh", "Zm9", "Zm9vZ", "Zm 9v", "Zm9v\n", "+///", "Zm9v."}) {
    EXPECT_FALSE(decode_base64url(wrong)) << wrong;
  }
  for (const char* wrong :
       {"Zg", "Zg=", "Zm8", "Zh==", "Zm9=", "====", "Z===", "Zg==Zg==", "-___", "=Zg="}) {
    EXPECT_FALSE(decode_base64(wrong)) << wrong;
  }
  EXPECT_FALSE(decode_base64url(std::string_view("Zm\0v", 4)));
}

}  // namespace
}  // namespace ob::pool
