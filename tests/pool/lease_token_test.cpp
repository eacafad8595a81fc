// Tokens that others have made: the vectors for every verifier, and mutants of them.

#include "pool/lease_token.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "pool/base64.hpp"
#include "support/random.hpp"

namespace ob::pool {
namespace {

using nlohmann::json;
using ob::test::uniform;

const json& vectors() {
  static const json file = [] {
    std::ifstream in(OB_POOL_VECTORS "/token_vectors.json");
    return json::parse(in);
  }();
  return file;
}

std::vector<LeaseKey> named_keys() {
  std::vector<LeaseKey> keys;
  for (const json& key : vectors()["keys"]) {
    keys.push_back({key["kid"], decode_base64(key["der"].get<std::string>()).value()});
  }
  return keys;
}

LeaseKeys keys() { return LeaseKeys::create(named_keys()).value(); }

std::string token_named(const std::string& name) {
  for (const json& vector : vectors()["vectors"]) {
    if (vector["name"] == name) return vector["token"];
  }
  ADD_FAILURE() << "no vector " << name;
  return {};
}

void expect_refused(std::string_view token, const LeaseKeys& by) {
  const auto claims = verify_lease_token(token, by);
  EXPECT_EQ(claims.status().code(), Code::denied) << token.substr(0, 1100);
}

// Ends after the largest number of milliseconds are taken as the last one that is a whole second.
std::int64_t milliseconds(const json& seconds) {
  return std::min(seconds.get<std::int64_t>(), INT64_MAX / 1000) * 1000;
}

LeaseClaims claims_of(const json& said) {
  LeaseClaims claims{said["iss"],
                     said["aud"],
                     said["dev"],
                     said["sub"],
                     said["jti"],
                     said["epo"],
                     said["flo"],
                     said["mod"] == "x",
                     said["mem"],
                     said["shr"],
                     said["ses"],
                     said["rgt"],
                     milliseconds(said["iat"]),
                     milliseconds(said["exp"]),
                     said["rev"],
                     std::nullopt};
  if (said.contains("uid")) claims.uid = said["uid"].get<std::uint32_t>();
  return claims;
}

TEST(LeaseToken, AnswersTheVectors) {
  const LeaseKeys known = keys();
  int accepted = 0;
  for (const json& vector : vectors()["vectors"]) {
    SCOPED_TRACE(vector["name"].get<std::string>());
    const auto claims = verify_lease_token(vector["token"].get<std::string>(), known);
    ASSERT_EQ(claims.ok(), !vector["claims"].is_null()) << claims.status().message();
    if (claims.ok()) {
      EXPECT_EQ(*claims, claims_of(vector["claims"]));
      ++accepted;
    } else {
      EXPECT_EQ(claims.status().code(), Code::denied);
    }
  }
  EXPECT_GE(accepted, 4);
}

TEST(LeaseToken, RefusesEachFlippedBit) {
  const LeaseKeys known = keys();
  const std::string token = token_named("exclusive");
  for (std::size_t bit = 0; bit < 8 * token.size(); ++bit) {
    std::string flipped = token;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    expect_refused(flipped, known);
  }
}

TEST(LeaseToken, RefusesEachShorterAndLongerOne) {
  const LeaseKeys known = keys();
  const std::string token = token_named("exclusive");
  for (std::size_t size = 0; size < token.size(); ++size) {
    expect_refused(std::string_view(token).substr(0, size), known);
    expect_refused(std::string_view(token).substr(token.size() - size), known);
  }
  for (const char* more : {".", "A", "=", "==", " ", "\n", "."}) {
    expect_refused(token + more, known);
    expect_refused(more + token, known);
  }
  expect_refused(token + std::string(1, '\0'), known);
}

TEST(LeaseToken, RefusesMixedParts) {
  const LeaseKeys known = keys();
  const auto parts = [](const std::string& token) {
    const std::size_t first = token.find('.');
    const std::size_t last = token.rfind('.');
    return std::vector{token.substr(0, first), token.substr(first + 1, last - first - 1),
                       token.substr(last + 1)};
  };
  const auto one = parts(token_named("exclusive"));
  const auto other = parts(token_named("shared, with a uid"));
  expect_refused(one[0] + '.' + one[1] + '.' + other[2], known);
  expect_refused(one[0] + '.' + other[1] + '.' + one[2], known);
  EXPECT_TRUE(verify_lease_token(other[0] + '.' + one[1] + '.' + one[2], known).ok());
}

TEST(LeaseToken, EndsForAnyLength) {
  const LeaseKeys known = keys();
  const std::string token = token_named("exclusive");
  const std::string header = token.substr(0, token.find('.') + 1);
  for (const std::size_t size : {1023, 1024, 1025, 1 << 20}) {
    expect_refused(std::string(size, 'A'), known);
    expect_refused(std::string(size, '.'), known);
    expect_refused((header + std::string(size, 'A')).substr(0, size), known);
    expect_refused(token + std::string(size, 'A'), known);
  }
}

TEST(LeaseToken, RefusesMutants) {
  auto random = ob::test::fresh_random();
  const LeaseKeys known = keys();
  const std::string token = token_named("exclusive");
  for (int round = 0; round < 2000; ++round) {
    std::string mutant = token;
    for (int change = uniform(random, 1, 3); change > 0; --change) {
      mutant[uniform<std::size_t>(random, 0, mutant.size() - 1)] =
          "AZaz09-_.=+/"[uniform(random, 0, 11)];
    }
    if (mutant != token) expect_refused(mutant, known);
  }
}

TEST(LeaseToken, IsGoodForAnyOfTheKeysInUse) {
  const std::string token = token_named("exclusive");
  expect_refused(token, LeaseKeys());
  LeaseKey other = named_keys().front();
  other.kid = "0123456789abcdef";
  expect_refused(token, LeaseKeys::create({other}).value());
  const LeaseKeys both = LeaseKeys::create({other, named_keys().front()}).value();
  EXPECT_TRUE(verify_lease_token(token, both).ok());
}

TEST(LeaseToken, RefusesKeysOfAnotherForm) {
  for (const char* kid : {"", "6c2ca10a1e6f1ee", "6c2ca10a1e6f1ee67", "6C2CA10A1E6F1EE6",
                          "6c2ca10a1e6f1e\",", "6c2ca10a1e6f1ee "}) {
    LeaseKey key = named_keys().front();
    key.kid = kid;
    EXPECT_EQ(LeaseKeys::create({key}).status().code(), Code::invalid_argument) << kid;
  }
  LeaseKey key = named_keys().front();
  key.der.pop_back();
  EXPECT_EQ(LeaseKeys::create({named_keys().front(), key}).status().code(), Code::invalid_argument);
}

TEST(LeaseToken, SaysWhatIsWrong) {
  const LeaseKeys known = keys();
  const std::pair<const char*, const char*> expected[] = {
      {"two parts", "three parts"},
      {"four parts", "three parts"},
      {"empty", "there is none"},
      {"padded", "base64url"},
      {"another kid", "header"},
      {"alg none, with the kid", "header"},
      {"HS256 with the public key", "header"},
      {"a header with spaces", "header"},
      {"a signature of zeros", "signature"},
      {"of another key", "signature"},
      {"claims cut short", "JSON"},
      {"without epo", "epo"},
      {"1024 bytes are too few for it", "1024"},
  };
  for (const auto& [name, word] : expected) {
    const auto message = verify_lease_token(token_named(name), known).status().message();
    EXPECT_NE(message.find(word), std::string::npos) << name << ": " << message;
  }
}

}  // namespace
}  // namespace ob::pool
