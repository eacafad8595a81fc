#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace ob {
namespace {

// The values are those of the Python package xxhash, xxh3_64_intdigest().
TEST(Checksum, IsXxh3WithSeedZero) {
  EXPECT_EQ(checksum({}), 0x2d06800538d394c2);
  EXPECT_EQ(checksum(std::as_bytes(std::span(std::string_view("SIAL")))), 0x82b8fb83eca3bc3f);
  std::vector<std::byte> bytes;
  for (int i = 0; i < 1000; ++i) bytes.push_back(static_cast<std::byte>(i % 251));
  EXPECT_EQ(checksum(bytes), 0x33ef703fb2b20ed1);
}

}  // namespace
}  // namespace ob
