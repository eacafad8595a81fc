// Golden bytes, round trips, and truncated and corrupted bodies of every message.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "support/hex.hpp"
#include "support/random.hpp"
#include "wire/codec.hpp"
#include "wire/samples.hpp"

namespace ob {
namespace {

using test::from_hex;
using test::to_hex;

// Decodes from memory that ends with the body, so that a sanitizer detects any read beyond it.
template <class Message>
Result<Message> decode_exactly(std::span<const std::byte> bytes) {
  const std::unique_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return wire::decode<Message>({copy.get(), bytes.size()});
}

template <class Message>
std::string encoded(const Message& message) {
  wire::Body body;
  wire::encode(message, body);
  return to_hex(body.bytes());
}

TEST(Messages, EncodeToTheGoldenBytes) {
  test::for_each_sample([](const char* name, const auto& message, std::string_view hex) {
    EXPECT_EQ(encoded(message), to_hex(from_hex(hex))) << name;
  });
}

TEST(Messages, DecodeFromTheGoldenBytes) {
  test::for_each_sample([](const char* name, const auto& message, std::string_view hex) {
    using Message = std::decay_t<decltype(message)>;
    const auto decoded = decode_exactly<Message>(from_hex(hex));
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.status().message();
    EXPECT_EQ(encoded(*decoded), to_hex(from_hex(hex))) << name;
  });
}

TEST(Messages, DecodedFieldsLandInTheirMembers) {
  const auto write = decode_exactly<wire::Write>(
      from_hex("05 00 00 00 00 00 00 00" + std::string(test::kRegionHex)));
  ASSERT_TRUE(write.ok());
  EXPECT_EQ(write->buffer.value, 5u);
  EXPECT_EQ(write->region.offset_bytes, 0x0102030405060708u);
  EXPECT_EQ(write->region.element_bytes, 16u);
  EXPECT_EQ(write->region.triangle, Triangle::lower);
  EXPECT_EQ(write->region.rows, 3u);
  EXPECT_EQ(write->region.cols, 5u);
  EXPECT_EQ(write->region.ld, 7u);
  EXPECT_EQ(write->region.word_bytes, 8u);
  const auto welcome = decode_exactly<wire::Welcome>(from_hex(test::kWelcomeHex));
  ASSERT_TRUE(welcome.ok());
  EXPECT_EQ(welcome->host_visible, 1);
  EXPECT_EQ(welcome->big_endian, 0);
  EXPECT_EQ(welcome->memory_bytes, 1ULL << 34);
  EXPECT_EQ(welcome->gflops_double, 123.25);
  EXPECT_EQ(welcome->backend, "cpu");
  EXPECT_EQ(welcome->description, "fast");
  EXPECT_EQ(welcome->machine, 0x1122334455667788u);
  EXPECT_EQ(welcome->processors, "0-3");
  const auto receive = decode_exactly<wire::Receive>(from_hex(test::kReceiveHex));
  ASSERT_TRUE(receive.ok());
  EXPECT_EQ(receive->peer_message.value, 17u);
  EXPECT_EQ(receive->buffer.value, 9u);
  EXPECT_EQ(receive->region.triangle, Triangle::upper_strict);
  EXPECT_EQ(receive->region.ld, UINT64_MAX);
  EXPECT_EQ(receive->next.value, 0x8000000000000007u);
  const auto send = decode_exactly<wire::Send>(from_hex(test::kSendHex));
  ASSERT_TRUE(send.ok());
  EXPECT_EQ(send->peer.value, 0x8000000000000007u);
  EXPECT_EQ(send->peer_message.value, 17u);
  EXPECT_EQ(send->buffer.value, 9u);
}

TEST(Messages, EveryTruncationIsRefusedAndNamed) {
  test::for_each_sample([](const char* name, const auto& message, std::string_view hex) {
    using Message = std::decay_t<decltype(message)>;
    const auto bytes = from_hex(hex);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto decoded = decode_exactly<Message>(std::span(bytes).first(size));
      ASSERT_FALSE(decoded.ok()) << name << " cut to " << size;
      EXPECT_EQ(decoded.status().code(), Code::protocol_error);
      EXPECT_EQ(decoded.status().message().find(std::string(name) + ": "), 0u)
          << decoded.status().message();
    }
  });
}

TEST(Messages, TrailingBytesAreRefused) {
  test::for_each_sample([](const char* name, const auto& message, std::string_view hex) {
    using Message = std::decay_t<decltype(message)>;
    for (const std::size_t excess : {1, 8}) {
      auto bytes = from_hex(hex);
      bytes.resize(bytes.size() + excess);
      const auto decoded = decode_exactly<Message>(bytes);
      ASSERT_FALSE(decoded.ok()) << name;
      EXPECT_NE(decoded.status().message().find("bytes follow"), std::string::npos);
    }
  });
}

// Each message has one encoding: a decoded message encodes to the same bytes again.
template <class Message>
void expect_refused_or_canonical(const char* name, std::span<const std::byte> bytes) {
  const auto decoded = decode_exactly<Message>(bytes);
  if (!decoded.ok()) {
    EXPECT_EQ(decoded.status().code(), Code::protocol_error) << name;
    return;
  }
  constexpr bool kBeginsWithVersion = requires { decoded->big_endian; }
  || std::is_same_v<Message, wire::JoinStream>;
  if constexpr (kBeginsWithVersion) {
    if (!wire::is_known_version(decoded->version)) return;  // only the version was decoded
  }
  EXPECT_EQ(encoded(*decoded), to_hex(bytes)) << name;
}

TEST(Messages, CorruptedBodiesAreRefusedOrCanonical) {
  auto random = test::fresh_random();
  test::for_each_sample([&](const char* name, const auto& message, std::string_view hex) {
    using Message = std::decay_t<decltype(message)>;
    const auto golden = from_hex(hex);
    for (std::size_t at = 0; at < golden.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        auto bytes = golden;
        bytes[at] = static_cast<std::byte>(value);
        expect_refused_or_canonical<Message>(name, bytes);
      }
    }
    for (int round = 0; round < 2000; ++round) {
      auto bytes = golden;
      for (int hit = test::uniform(random, 2, 8); hit > 0; --hit) {
        const auto at = test::uniform<std::size_t>(random, 0, bytes.size() - 1);
        bytes[at] = static_cast<std::byte>(random());
      }
      bytes.resize(test::uniform<std::size_t>(random, 0, 2 * golden.size()));
      expect_refused_or_canonical<Message>(name, bytes);
    }
  });
}

TEST(Messages, RandomBodiesAreRefusedOrCanonical) {
  auto random = test::fresh_random();
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> bytes(test::uniform<std::size_t>(random, 0, 200));
    // Bodies of mostly zeros get through more checks than random bytes.
    const int density = test::uniform(random, 1, 8);
    for (auto& byte : bytes) {
      if (test::uniform(random, 1, 8) <= density) byte = static_cast<std::byte>(random());
    }
    test::for_each_sample([&](const char* name, const auto& message, std::string_view) {
      expect_refused_or_canonical<std::decay_t<decltype(message)>>(name, bytes);
    });
  }
}

TEST(Messages, RandomValuesSurviveTheRoundTrip) {
  auto random = test::fresh_random();
  for (int round = 0; round < 1000; ++round) {
    wire::Outcome outcome;
    outcome.code = static_cast<Code>(test::uniform(random, 0, 12));
    outcome.credits = static_cast<std::uint32_t>(random());
    outcome.failed_sequence = random();
    outcome.compute_ns = random();
    outcome.plan_ns = random();
    outcome.waited_ns = random();
    outcome.keep_bytes = random();
    outcome.message.resize(test::uniform<std::size_t>(random, 0, 1024));
    for (char& c : outcome.message) c = static_cast<char>(random());
    wire::Body body;
    wire::encode(outcome, body);
    EXPECT_EQ(body.bytes().size() % 8, 0u);
    const auto back = decode_exactly<wire::Outcome>(body.bytes());
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->code, outcome.code);
    EXPECT_EQ(back->credits, outcome.credits);
    EXPECT_EQ(back->failed_sequence, outcome.failed_sequence);
    EXPECT_EQ(back->compute_ns, outcome.compute_ns);
    EXPECT_EQ(back->plan_ns, outcome.plan_ns);
    EXPECT_EQ(back->waited_ns, outcome.waited_ns);
    EXPECT_EQ(back->keep_bytes, outcome.keep_bytes);
    EXPECT_EQ(back->message, outcome.message);
  }
}

TEST(Messages, OverlongTextsAreCutWhenSentAndRefusedWhenReceived) {
  wire::Hello hello;
  hello.client.assign(5000, 'c');
  hello.identity.assign(5000, 'i');
  wire::Body body;
  wire::encode(hello, body);
  const auto back = decode_exactly<wire::Hello>(body.bytes());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->client, std::string(255, 'c'));
  EXPECT_EQ(back->identity, std::string(1024, 'i'));

  auto bytes = from_hex(test::kHelloHex);
  bytes[29] = std::byte{1};  // length of client: 5 + 256
  bytes.resize(1024);
  const auto refused = decode_exactly<wire::Hello>(bytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message().find("hello: client "), 0u) << refused.status().message();
}

TEST(Messages, AnotherVersionsHelloTellsItsVersionWhateverFollows) {
  auto bytes = from_hex(test::kHelloHex);
  bytes[4] = std::byte{0x34};
  bytes[5] = std::byte{0x12};
  for (const std::size_t size : {bytes.size(), std::size_t{8}}) {
    const auto hello = decode_exactly<wire::Hello>(std::span(bytes).first(size));
    ASSERT_TRUE(hello.ok()) << hello.status().message();
    EXPECT_EQ(hello->version, 0x1234);
    EXPECT_EQ(hello->client, "");
    const auto welcome = decode_exactly<wire::Welcome>(std::span(bytes).first(size));
    ASSERT_TRUE(welcome.ok());
    EXPECT_EQ(welcome->version, 0x1234);
  }
  bytes[0] = std::byte{0};
  const auto foreign = decode_exactly<wire::Hello>(bytes);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.status().message().find("hello: magic "), 0u) << foreign.status().message();
}

struct Bad {
  std::size_t at;
  int value;
  const char* field;
};

template <class Message>
void expect_refusals(std::string_view hex, const char* name, std::initializer_list<Bad> list) {
  for (const Bad& bad : list) {
    auto bytes = from_hex(hex);
    bytes[bad.at] = static_cast<std::byte>(bad.value);
    const auto decoded = decode_exactly<Message>(bytes);
    ASSERT_FALSE(decoded.ok()) << name << " byte " << bad.at;
    const std::string expected = std::string(name) + ": " + bad.field + " ";
    EXPECT_EQ(decoded.status().message().substr(0, expected.size()), expected);
  }
}

TEST(Messages, EnumeratorsFlagsAndPaddingAreChecked) {
  expect_refusals<wire::Hello>(test::kHelloHex, "hello",
                               {{6, 2, "big_endian"},
                                {37, 1, "client"},
                                {47, 9, "identity"},
                                {48, 7, "flags"},
                                {51, 0x80, "flags"},
                                {52, 1, "padding"}});
  expect_refusals<wire::Facts>(test::kFactsHex, "facts",
                               {{0, 65, "routine_rates"},
                                {1, 1, "routine_rates"},
                                {4, 1, "padding"},
                                {10, 1, "padding"},
                                {23, 0xC1, "routine_rates"},    // flop: negative
                                {31, 0xC0, "routine_rates"},    // gflops: negative
                                {55, 0xFF, "routine_rates"}});  // gflops: negative and huge
  expect_refusals<wire::Fill>(test::kFillHex, "fill",
                              {{16, 12, "region"},  // element_bytes: no power of 2
                               {16, 32, "region"},
                               {20, 1, "region"},  // a triangle
                               {21, 16, "region"},
                               {16, 4, "element"},  // bytes behind the element
                               {56, 1, "element"},
                               {63, 1, "element"}});
  expect_refusals<wire::Reached>(
      test::kReachedHex, "reached",
      {{8, 13, "outcome"}, {8, 17, "outcome"}, {9, 1, "outcome"}, {57, 5, "outcome"}});
  expect_refusals<wire::Welcome>(test::kWelcomeHex, "welcome",
                                 {{6, 255, "big_endian"},
                                  {7, 2, "host_visible"},
                                  {47, 0xC0, "gflops_double"},
                                  {48, 0x10, "accuracies"},
                                  {49, 1, "padding"},
                                  {71, 1, "backend"},
                                  {87, 1, "processors"}});
  expect_refusals<wire::Refused>(
      test::kRefusedHex, "refused",
      {{0, 0, "code"}, {0, 13, "code"}, {1, 1, "reserved"}, {15, 1, "message"}});
  expect_refusals<wire::Stripes>(
      test::kStripesHex, "stripes",
      {{0, 0, "block_bytes"}, {1, 1, "reserved"}, {3, 1, "reserved"}, {6, 0, "block_bytes"}});
  expect_refusals<wire::JoinStream>(
      test::kJoinStreamHex, "join_stream",
      {{0, 0, "magic"}, {7, 1, "reserved"}, {24, 8, "identity"}, {31, 1, "identity"}});
  expect_refusals<wire::Outcome>(
      test::kOutcomeHex, "outcome",
      {{0, 13, "code"}, {1, 1, "reserved"}, {3, 1, "reserved"}, {49, 5, "message"}});
  expect_refusals<wire::SetAccuracy>("02 00 00 00 00 00 00 00", "set_accuracy",
                                     {{0, 4, "accuracy"}, {1, 1, "padding"}});
  expect_refusals<wire::Write>("05 00 00 00 00 00 00 00" + std::string(test::kRegionHex), "write",
                               {{20, 5, "region"},
                                {21, 3, "region"},
                                {21, 16, "region"},
                                {22, 1, "padding"},
                                {23, 1, "padding"},
                                {16, 12, "region"}});  // element_bytes: not whole words
  expect_refusals<wire::Location>(
      "00 00 00 00 00 00 00 00   00 10 00 00 00 00 00 00   00 30 00 00 00 00 00 00", "location",
      {{0, 13, "code"}, {1, 1, "padding"}, {15, 1, "offset_bytes"}});
  expect_refusals<wire::Credit>("04 03 02 01 00 00 00 00", "credit", {{4, 1, "padding"}});
}

TEST(Messages, WhatGoesFromDeviceToDeviceIsChecked) {
  expect_refusals<wire::Mailbox>(test::kMailboxHex, "mailbox",
                                 {{0, 13, "code"}, {0, 5, "access key"}, {1, 1, "padding"}});
  expect_refusals<wire::ConnectPeer>(
      test::kConnectPeerHex, "connect_peer",
      {{24, 99, "address"}, {25, 1, "address"}, {41, 1, "address"}, {47, 1, "address"}});
  expect_refusals<wire::Send>(
      test::kSendHex, "send",
      {{8, 0, "peer_message"}, {36, 5, "region"}, {37, 3, "region"}, {38, 1, "padding"}});
  expect_refusals<wire::Receive>(
      test::kReceiveHex, "receive",
      {{0, 0, "peer_message"}, {28, 5, "region"}, {29, 16, "region"}, {31, 1, "padding"}});
  expect_refusals<wire::JoinPeer>(test::kJoinPeerHex, "join_peer",
                                  {{0, 0, "magic"},
                                   {6, 2, "big_endian"},
                                   {7, 1, "reserved"},
                                   {24, 8, "identity"},
                                   {31, 1, "identity"}});
  expect_refusals<wire::PeerMessage>(test::kPeerMessageHex, "peer_message",
                                     {{0, 0, "peer_message"},
                                      {8, 1, "region"},
                                      {15, 1, "region"},
                                      {20, 5, "region"},
                                      {21, 3, "region"},
                                      {22, 1, "padding"},
                                      {16, 12, "region"},
                                      {40, 4, "region"},
                                      {40, 2, "region"}});
}

TEST(Messages, AMailboxThatIsNotOpenHasNoAccessKey) {
  const std::string_view closed =
      "05 00 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00"
      "00 00 00 00 00 00 00 00";
  const auto mailbox = decode_exactly<wire::Mailbox>(from_hex(closed));
  ASSERT_TRUE(mailbox.ok()) << mailbox.status().message();
  EXPECT_EQ(mailbox->code, Code::denied);
  expect_refusals<wire::Mailbox>(
      closed, "mailbox", {{0, 0, "access key"}, {8, 1, "access key"}, {23, 1, "access key"}});
}

TEST(Messages, AnotherVersionsJoinPeerTellsItsVersionWhateverFollows) {
  auto bytes = from_hex(test::kJoinPeerHex);
  bytes[4] = std::byte{4};
  for (const std::size_t size : {bytes.size(), std::size_t{8}}) {
    const auto join = decode_exactly<wire::JoinPeer>(std::span(bytes).first(size));
    ASSERT_TRUE(join.ok()) << join.status().message();
    EXPECT_EQ(join->version, 4);
    EXPECT_EQ(join->access_key, wire::Token{});
  }
}

TEST(Messages, PartsOfModulesAndLaunchesAreChecked) {
  expect_refusals<wire::LoadModule>(test::kLoadModuleHex, "load_module",
                                    {{9, 0x11, "option_bytes"},
                                     {12, 1, "padding"},
                                     {16, 17, "variants"},
                                     {25, 1, "padding"},
                                     {36, 1, "bytes"},
                                     {40, 64, "variants"},
                                     {75, 1, "variants"}});  // behind the architecture
  expect_refusals<wire::Launch>(test::kLaunchHex, "launch",
                                {{33, 1, "kernel"},
                                 {40, 65, "arguments"},
                                 {48, 0, "arguments"},  // kind
                                 {48, 4, "arguments"},  // kind
                                 {49, 1, "arguments"},  // reserved
                                 {52, 1, "arguments"},  // bytes of a buffer
                                 {88, 1, "arguments"},  // a scalar in a buffer
                                 {84, 17, "values"},    // a longer scalar
                                 {84, 8, "values"},     // a shorter one
                                 {80, 3, "values"},     // none
                                 {144, 201, "values"},
                                 {167, 1, "values"}});  // behind the end of the scalar
  expect_refusals<wire::ModuleAnswer>(test::kModuleHex, "module",
                                      {{0, 17, "code"},
                                       {0, 13, "code"},
                                       {1, 1, "reserved"},
                                       {4, 1, "kernels"},
                                       {11, 1, "log_bytes"}});
  expect_refusals<wire::KernelSupport>("06 00 00 00 60 ea 00 00   00 00 00 00 00 00 00 00",
                                       "kernel_support",
                                       {{0, 0, "why"}, {8, 2, "flags"}, {12, 1, "why"}});
}

TEST(Messages, StripesThatGrantNothingAreAllZero) {
  const auto nothing = decode_exactly<wire::Stripes>(from_hex(std::string(48, '0')));
  ASSERT_TRUE(nothing.ok()) << nothing.status().message();
  EXPECT_EQ(nothing->extra_streams, 0);
  expect_refusals<wire::Stripes>(
      std::string(48, '0'), "stripes",
      {{0, 2, "block_bytes"}, {4, 1, "block_bytes"}, {8, 1, "access key"}});
}

TEST(Messages, AnOlderHelloHasNoFlags) {
  const auto older = decode_exactly<wire::Hello>(from_hex(test::kOlderHelloHex));
  ASSERT_TRUE(older.ok()) << older.status().message();
  EXPECT_EQ(older->version, 6);
  EXPECT_EQ(older->extra_streams, 3);
  EXPECT_EQ(older->flags, 0u);
  const auto hello = decode_exactly<wire::Hello>(from_hex(test::kHelloHex));
  ASSERT_TRUE(hello.ok()) << hello.status().message();
  EXPECT_EQ(hello->flags, wire::kHoldsUserData | wire::kWantsKernels);
}

TEST(Messages, AllRatesOfADeviceFitInABody) {
  wire::Facts facts;
  facts.routine_rates.assign(kMaxRoutineRates + 1, {RateFamily::qr, 1e9, 0.5});
  wire::Body body;
  wire::encode(facts, body);
  EXPECT_EQ(body.bytes().size(), 8 + kMaxRoutineRates * 24);
  const auto back = decode_exactly<wire::Facts>(body.bytes());
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_EQ(back->routine_rates.size(), kMaxRoutineRates);
  EXPECT_EQ(back->routine_rates.back().family, RateFamily::qr);
  EXPECT_EQ(back->routine_rates.back().gflops, 0.5);
}

TEST(Messages, ARoutineRateThatIsNoRateIsRefused) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity, -1.0, 0.0}) {
    for (const RoutineRate rate : {RoutineRate{RateFamily::lu, bad, 1}, {RateFamily::lu, 1, bad}}) {
      wire::Body body;
      wire::encode(wire::Facts{{{RateFamily::qr, 1, 1}, rate}}, body);
      EXPECT_FALSE(decode_exactly<wire::Facts>(body.bytes()).ok()) << bad;
    }
  }
}

TEST(Messages, ARateThatIsNoNumberIsRefused) {
  for (const double rate : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    wire::Welcome welcome;
    welcome.gflops_double = rate;
    wire::Body body;
    wire::encode(welcome, body);
    EXPECT_FALSE(decode_exactly<wire::Welcome>(body.bytes()).ok()) << rate;
  }
}

}  // namespace
}  // namespace ob
