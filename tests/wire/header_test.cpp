#include <gtest/gtest.h>

#include <array>
#include <set>

#include "support/hex.hpp"
#include "support/random.hpp"
#include "wire/codec.hpp"

namespace ob {
namespace {

using Bytes = std::array<std::byte, wire::kHeaderBytes>;

// docs/wire.md, table of section 4.
const std::set<int> kOpcodes = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
                                33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 64, 65, 66, 67,
                                68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83};
const std::set<int> kWithoutBody = {2, 3, 16, 17, 18, 22, 23, 31, 70, 73};
const std::set<int> kWithPayload = {7, 29, 32, 43, 67, 79, 83};

Bytes bytes_of(std::string_view hex) {
  const auto vector = test::from_hex(hex);
  Bytes bytes;
  std::copy(vector.begin(), vector.end(), bytes.begin());
  return bytes;
}

constexpr std::string_view kGolden = R"(
  07 00 00 00 30 00 00 00   // opcode write, flags, body_bytes
  05 00 00 00 00 00 00 00   // queue
  08 07 06 05 04 03 02 01   // sequence
  00 00 00 00 02 00 00 00   // payload_bytes: 8 GiB
)";

TEST(Header, EncodesToTheGoldenBytes) {
  const wire::Header header{wire::Opcode::write, 0, 48, {5}, 0x0102030405060708, 1ULL << 33};
  Bytes bytes;
  wire::encode_header(header, bytes);
  EXPECT_EQ(test::to_hex(bytes), test::to_hex(test::from_hex(kGolden)));
}

TEST(Header, DecodesFromTheGoldenBytes) {
  const auto header = wire::decode_header(bytes_of(kGolden));
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->opcode, wire::Opcode::write);
  EXPECT_EQ(header->flags, 0);
  EXPECT_EQ(header->body_bytes, 48u);
  EXPECT_EQ(header->queue.value, 5u);
  EXPECT_EQ(header->sequence, 0x0102030405060708u);
  EXPECT_EQ(header->payload_bytes, 1ULL << 33);
}

TEST(Header, KnowsEveryOpcodeAndNoOther) {
  for (int opcode = 0; opcode < 65536; ++opcode) {
    Bytes bytes{};
    bytes[0] = static_cast<std::byte>(opcode);
    bytes[1] = static_cast<std::byte>(opcode >> 8);
    EXPECT_EQ(wire::decode_header(bytes).ok(), kOpcodes.count(opcode) == 1) << opcode;
  }
}

TEST(Header, RefusesWhatTheMessageCannotHave) {
  for (const int opcode : kOpcodes) {
    wire::Header header;
    header.opcode = static_cast<wire::Opcode>(opcode);
    const auto decodes = [&] {
      Bytes bytes;
      wire::encode_header(header, bytes);
      const auto decoded = wire::decode_header(bytes);
      if (!decoded.ok()) {
        EXPECT_EQ(decoded.status().code(), Code::protocol_error);
        EXPECT_NE(decoded.status().message().find("opcode " + std::to_string(opcode)),
                  std::string::npos);
      }
      return decoded.ok();
    };
    header.payload_bytes = 1;
    EXPECT_EQ(decodes(), kWithPayload.count(opcode) == 1) << opcode;
    header.payload_bytes = 0;
    for (const std::uint32_t body_bytes : {8u, 4096u}) {
      header.body_bytes = body_bytes;
      EXPECT_EQ(decodes(), kWithoutBody.count(opcode) == 0) << opcode;
    }
    for (const std::uint32_t body_bytes : {4u, 9u, 4097u, 4104u, 0xFFFFFFF8u}) {
      header.body_bytes = body_bytes;
      EXPECT_FALSE(decodes()) << opcode << " body " << body_bytes;
    }
    header.body_bytes = 0;
    for (const std::uint16_t flags : {1, 0x8000}) {
      header.flags = flags;
      EXPECT_FALSE(decodes()) << opcode;
    }
  }
}

TEST(Header, RandomBytesAreRefusedOrCanonical) {
  auto random = test::fresh_random();
  int accepted = 0;
  for (int round = 0; round < 100000; ++round) {
    Bytes bytes{};
    for (std::byte& byte : bytes) {
      if (random() % 4 == 0) byte = static_cast<std::byte>(random());
    }
    const auto header = wire::decode_header(bytes);
    if (!header.ok()) continue;
    ++accepted;
    Bytes again;
    wire::encode_header(*header, again);
    EXPECT_EQ(again, bytes);
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace ob
