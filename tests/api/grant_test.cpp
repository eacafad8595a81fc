// Grants: puts and gets against an oracle on the host, and what their owner may ask for.

#include <algorithm>

#include "api/grant_fixture.hpp"

namespace ob::test {
namespace {

TEST_P(GrantTest, RandomPutsAndGetsAgreeWithTheHost) {
  Address address{};
  const ob_grant given = grant(OB_MAY_READ | OB_MAY_WRITE, address);
  Bytes local = noise(kBytes);
  ASSERT_TRUE(succeeds(ob_write(queue[1], {others, 0}, local.data(), kBytes, 0)));
  std::uint64_t puts = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t bytes = uniform<std::uint64_t>(engine, 1, round % 9 == 0 ? kRange : 2000);
    const std::uint64_t offset = uniform<std::uint64_t>(engine, 0, kRange - bytes);
    const std::uint64_t here = uniform<std::uint64_t>(engine, 0, kBytes - bytes);
    if (engine() % 2 == 0) {
      ASSERT_TRUE(
          succeeds(ob_put(queue[1], address.data(), offset, {others, here}, bytes, nullptr)));
      std::memcpy(truth.data() + kBegin + offset, local.data() + here, bytes);
      ++puts;
    } else {
      ASSERT_TRUE(
          succeeds(ob_get(queue[1], address.data(), offset, {others, here}, bytes, nullptr)));
      std::memcpy(local.data() + here, truth.data() + kBegin + offset, bytes);
    }
  }
  ASSERT_TRUE(succeeds(ob_grant_wait(given, queue[0], puts)));
  expect_untouched();
  EXPECT_TRUE(contents(1, others, kBytes) == local);
  ASSERT_TRUE(succeeds(ob_grant_revoke(given)));
}

TEST_P(GrantTest, QueuesWaitForWhatLands) { expect_waits(); }

TEST_P(GrantTest, MistakesAreFound) {
  Address address{};
  ob_grant none = nullptr;
  const auto make = [&](std::uint64_t offset, std::uint64_t bytes, std::uint32_t may,
                        std::uint32_t seconds) {
    return ob_grant_create(owned, offset, bytes, may, nullptr, seconds, 0, address.data(), &none);
  };
  EXPECT_TRUE(fails(make(1, kBytes, 1, 10), OB_INVALID_ARGUMENT, "not in its buffer"));
  EXPECT_TRUE(fails(make(0, 0, 1, 10), OB_INVALID_ARGUMENT, "empty"));
  EXPECT_TRUE(fails(make(0, 10, 0, 10), OB_INVALID_ARGUMENT, "OB_MAY_READ"));
  EXPECT_TRUE(fails(make(0, 10, 4, 10), OB_INVALID_ARGUMENT, "OB_MAY_READ"));
  EXPECT_TRUE(fails(make(0, 10, 1, 0), OB_INVALID_ARGUMENT, "lasts"));
  EXPECT_TRUE(fails(make(0, 10, 1, 86401), OB_INVALID_ARGUMENT, "lasts"));
  EXPECT_EQ(none, nullptr);
  EXPECT_TRUE(fails(ob_put(queue[1], "mailbox:a:1#00", 0, {others, 0}, 1, nullptr),
                    OB_INVALID_ARGUMENT, "form"));
  grant(OB_MAY_READ, address);
  EXPECT_TRUE(fails(ob_get(queue[1], address.data(), 0, {others, kBytes}, 1, nullptr),
                    OB_INVALID_ARGUMENT, "beyond"));
}

TEST_P(GrantTest, ASessionHasSoManyGrants) {
  Address address{};
  for (int i = 0; i < 1024; ++i) ASSERT_NE(grant(OB_MAY_READ, address), nullptr);
  ob_grant none = nullptr;
  EXPECT_TRUE(fails(ob_grant_create(owned, 0, 1, OB_MAY_READ, nullptr, 1, 0, address.data(), &none),
                    OB_DENIED, "1024"));
}

INSTANTIATE_TEST_SUITE_P(at, GrantTest, testing::ValuesIn(kGrantWays), way_name);

// Copies go straight into mapped buffers there.
class MappedGrantTest : public GrantTest {};
TEST_P(MappedGrantTest, QueuesWaitForWhatLands) { expect_waits(); }
INSTANTIATE_TEST_SUITE_P(at, MappedGrantTest, testing::Values(Way::shared_memory), way_name);

}  // namespace
}  // namespace ob::test
