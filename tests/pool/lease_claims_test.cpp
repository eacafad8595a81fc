// Claims that were signed by mistake: other types, numbers out of range, and JSON that is none.

#include "pool/lease_claims.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace ob::pool {
namespace {

constexpr std::string_view kGood =
    R"({"iss":"0123456789abcdef","aud":"node7","dev":"GPU-7d2f","sub":"certificate ada",)"
    R"("jti":"lease","epo":5,"flo":4,"mod":"s","mem":1073741824,"shr":250,"ses":64,)"
    R"("rgt":"calls","iat":1790000000,"exp":1790000030,"rev":812345})";
constexpr std::string_view kNumbers[] = {"epo", "flo", "mem", "shr", "ses", "iat", "exp", "rev"};
constexpr std::string_view kTexts[] = {"iss", "aud", "dev", "sub", "jti", "mod", "rgt"};

// Returns the good claims with another value of one of them.
std::string with(std::string_view name, std::string_view value) {
  std::string text(kGood);
  const std::string key = '"' + std::string(name) + "\":";
  const std::size_t start = text.find(key) + key.size();
  const std::size_t end = text.find_first_of(",}", start);
  return text.replace(start, end - start, value);
}

std::string with_more(std::string_view more) {
  return std::string(kGood.substr(0, kGood.size() - 1)) + "," + std::string(more) + "}";
}

void expect_refused(std::string_view json) {
  const auto claims = parse_lease_claims(json);
  EXPECT_EQ(claims.status().code(), Code::denied) << json.substr(0, 400);
}

TEST(LeaseClaims, ReadsAll) {
  const auto claims = parse_lease_claims(kGood);
  ASSERT_TRUE(claims.ok()) << claims.status().message();
  const LeaseClaims expected{"0123456789abcdef",
                             "node7",
                             "GPU-7d2f",
                             "certificate ada",
                             "lease",
                             5,
                             4,
                             false,
                             1073741824,
                             250,
                             64,
                             "calls",
                             1790000000000,
                             1790000030000,
                             812345,
                             std::nullopt};
  EXPECT_EQ(*claims, expected);
  EXPECT_EQ(parse_lease_claims(with_more(R"("uid":1000)"))->uid, 1000U);
  EXPECT_EQ(parse_lease_claims(with_more(R"("uid":4294967295)"))->uid, 4294967295U);
  EXPECT_EQ(parse_lease_claims(with_more(R"("uid":-1)"))->uid, std::nullopt);
  EXPECT_TRUE(parse_lease_claims(with("mod", R"("x")"))->exclusive);
}

TEST(LeaseClaims, IgnoresWhatItDoesNotKnow) {
  for (const char* more : {R"("more":[1,{"a":null}])", R"("nbf":"tomorrow")", R"("":{})"}) {
    EXPECT_TRUE(parse_lease_claims(with_more(more)).ok()) << more;
  }
}

TEST(LeaseClaims, RefusesOtherTypes) {
  const std::string_view wrong[] = {"null",
                                    "true",
                                    "false",
                                    "[]",
                                    "[5]",
                                    "{}",
                                    R"({"a":5})",
                                    "5.0",
                                    "5e0",
                                    "-1",
                                    "-0.0",
                                    "9223372036854775808",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "1e400"};
  for (const std::string_view value : wrong) {
    for (const std::string_view name : kNumbers) expect_refused(with(name, value));
    for (const std::string_view name : kTexts) expect_refused(with(name, value));
  }
  for (const std::string_view name : kNumbers) expect_refused(with(name, R"("5")"));
  for (const std::string_view name : kTexts) expect_refused(with(name, "5"));
  for (const char* mode : {R"("y")", R"("")", R"("X")", R"("xs")"}) {
    expect_refused(with("mod", mode));
  }
  for (const char* uid : {"-2", "4294967296", "1000.0", "null", R"("1000")", "[1000]", "true"}) {
    expect_refused(with_more(R"("uid":)" + std::string(uid)));
  }
}

TEST(LeaseClaims, TakesTheLargestNumbers) {
  for (const std::string_view name : kNumbers) {
    EXPECT_TRUE(parse_lease_claims(with(name, "9223372036854775807")).ok()) << name;
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parse_lease_claims(with("epo", "9223372036854775807"))->epoch, kMost);
  // In milliseconds the last end does not fit; it is the largest that does.
  EXPECT_EQ(parse_lease_claims(with("exp", "9223372036854775807"))->end_ms, 9223372036854775000);
}

TEST(LeaseClaims, NamesTheClaimThatIsMissing) {
  for (std::size_t start = 1; start < kGood.size();) {
    const std::size_t end = kGood.find_first_of(",}", start);
    std::string text(kGood);
    text.erase(start, end - start + (kGood[end] == ',' ? 1 : 0));
    if (kGood[end] == '}') text.erase(start - 1, 1);  // the comma before the last one
    const auto claims = parse_lease_claims(text);
    EXPECT_EQ(claims.status().code(), Code::denied) << text;
    const std::string name(kGood.substr(start + 1, 3));
    EXPECT_NE(claims.status().message().find("claim " + name + ' '), std::string::npos)
        << claims.status().message();
    start = end + 1;
  }
}

TEST(LeaseClaims, RefusesWhatIsNoObject) {
  for (const char* json : {"", " ", "null", "5", "[]", "\"x\"", "{", "}", "{}{}", "nul"}) {
    expect_refused(json);
  }
  for (std::size_t size = 0; size < kGood.size(); ++size) expect_refused(kGood.substr(0, size));
  expect_refused(std::string(kGood) + "{}");
  expect_refused(with("sub", "\"\xFF\xFE\""));
  expect_refused(with("sub", "\"a\nb\""));
  expect_refused(with("sub", R"("\ud800")"));
  expect_refused(with("epo", "05"));
  expect_refused(std::string_view("{\0}", 3));
  for (const char* after : {"", "{}", "garbage"}) expect_refused(std::string(kGood) + '\0' + after);
}

// The parser of the library must not use the stack for each level, or time for each pair of them.
TEST(LeaseClaims, EndsForDeepAndLongJson) {
  constexpr std::size_t kMiB = 1 << 20;
  expect_refused(std::string(kMiB, '['));
  expect_refused(R"({"a":)" + std::string(kMiB, '['));
  std::string objects;
  for (int level = 0; level < 100000; ++level) objects += R"({"a":)";
  expect_refused(objects);
  EXPECT_TRUE(
      parse_lease_claims(with_more(R"("a":)" + std::string(kMiB, '[') + std::string(kMiB, ']')))
          .ok());
  EXPECT_TRUE(parse_lease_claims(with_more(R"("a":")" + std::string(kMiB, 'x') + '"')).ok());
  expect_refused(std::string(kMiB, ' '));
  expect_refused(std::string(kMiB, '9'));
}

}  // namespace
}  // namespace ob::pool
