// Tests Body and Reader themselves; messages_test.cpp tests the messages.

#include "wire/codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/hex.hpp"

namespace ob {
namespace {

using test::from_hex;
using test::to_hex;
using wire::Body;
using wire::Reader;

TEST(Body, StoresLittleEndian) {
  Body body;
  body.u8(0x11);
  body.u8(0x12);
  body.u16(0x2122);
  body.u32(0x31323334);
  body.u64(0x4142434445464748);
  body.f64(-1.0);
  EXPECT_EQ(to_hex(body.bytes()),
            to_hex(from_hex(
                "11 12 22 21 34 33 32 31  48 47 46 45 44 43 42 41  00 00 00 00 00 00 f0 bf")));
}

TEST(Body, PadsTextsWithZeros) {
  Body body;
  body.text("abcd", 10);
  body.text("", 10);
  body.text("abcdef", 3);
  EXPECT_EQ(to_hex(body.bytes()),
            to_hex(from_hex(
                "04 00 00 00 61 62 63 64  00 00 00 00 00 00 00 00  03 00 00 00 61 62 63 00")));
}

TEST(Body, TextIsCutToTheRoomThatIsLeft) {
  Body body;
  while (body.bytes().size() < wire::kMaxBodyBytes - 16) body.u64(0);
  body.text(std::string(100, 'x'), 100);
  EXPECT_EQ(body.bytes().size(), wire::kMaxBodyBytes);
  EXPECT_EQ(to_hex(body.bytes().last(16)),
            to_hex(from_hex("0c 00 00 00 78 78 78 78 78 78 78 78 78 78 78 78")));
}

TEST(Reader, ReadsWhatBodyWrote) {
  const auto bytes =
      from_hex("11 12 22 21 34 33 32 31  48 47 46 45 44 43 42 41  00 00 00 00 00 00 f0 bf");
  Reader reader(bytes);
  EXPECT_EQ(reader.u8(), 0x11);
  EXPECT_EQ(reader.u8(), 0x12);
  EXPECT_EQ(reader.u16(), 0x2122);
  EXPECT_EQ(reader.u32(), 0x31323334u);
  EXPECT_EQ(reader.u64(), 0x4142434445464748u);
  EXPECT_FALSE(reader.finished());
  EXPECT_EQ(reader.f64(), -1.0);
  EXPECT_TRUE(reader.finished());
}

TEST(Reader, StaysFailedAndReturnsZeros) {
  const auto bytes = from_hex("01 02 03 04 05 06 07");
  Reader reader(bytes);
  EXPECT_EQ(reader.u64(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0);  // although one byte is left
  EXPECT_EQ(reader.text(10), "");
  EXPECT_FALSE(reader.finished());
}

TEST(Reader, TextLengthsAreHostile) {
  const auto longer_than_limit = from_hex("04 00 00 00 61 62 63 64");
  Reader limited(longer_than_limit);
  EXPECT_EQ(limited.text(3), "");
  EXPECT_FALSE(limited.ok());
  const auto longer_than_body = from_hex("05 00 00 00 61 62 63 64");
  Reader outside(longer_than_body);
  EXPECT_EQ(outside.text(100), "");
  EXPECT_FALSE(outside.ok());
  const auto huge = from_hex("ff ff ff ff 61 62 63 64");
  Reader overflowing(huge);
  EXPECT_EQ(overflowing.text(std::numeric_limits<std::size_t>::max()), "");
  EXPECT_FALSE(overflowing.ok());
  const auto dirty_padding = from_hex("03 00 00 00 61 62 63 01");
  Reader padded(dirty_padding);
  EXPECT_EQ(padded.text(100), "");
  EXPECT_FALSE(padded.ok());
}

TEST(Reader, KeepsTheBitsOfNumbersThatAreNone) {
  Body body;
  body.f64(std::nan("0x5"));
  Reader reader(body.bytes());
  EXPECT_TRUE(std::isnan(reader.f64()));
  EXPECT_TRUE(reader.finished());
}

}  // namespace
}  // namespace ob
