// Attacks on grants, which must all fail, and failures in the middle of a put.

#include <atomic>

#include "api/grant_fixture.hpp"

namespace ob::test {
namespace {

class GrantAttackTest : public GrantTest {};

TEST_P(GrantAttackTest, AForgedSecretOpensNothing) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address);
  Address forged = address;
  char& digit = forged[std::strlen(forged.data()) - 1];
  digit = digit == '0' ? '1' : '0';
  const ob_status status = put(forged, 0, 100);
  EXPECT_TRUE(status == OB_DENIED || status == OB_INVALID_ARGUMENT || status == OB_UNAVAILABLE);
  EXPECT_EQ(put(address, 0, 1), OB_OK);
  EXPECT_EQ(put(forged, 0, 100), OB_DENIED);  // also on a stream that is open
  EXPECT_EQ(get(forged, 0, 100), OB_DENIED);
  std::memcpy(truth.data() + kBegin, contents(1, others, 1).data(), 1);
  expect_untouched();
}

TEST_P(GrantAttackTest, OneByteBeyondIsRefused) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address);
  EXPECT_EQ(put(address, 1, kRange), OB_INVALID_ARGUMENT);
  EXPECT_EQ(put(address, kRange, 1), OB_INVALID_ARGUMENT);
  EXPECT_EQ(put(address, UINT64_MAX, 1), OB_INVALID_ARGUMENT);
  EXPECT_EQ(get(address, kRange - 1, 2), OB_INVALID_ARGUMENT);
  expect_untouched();
  EXPECT_EQ(get(address, kRange - 1, 1), OB_OK);
}

TEST_P(GrantAttackTest, TheDirectionHolds) {
  Address read{}, write{};
  grant(OB_MAY_READ, read);
  grant(OB_MAY_WRITE, write);
  EXPECT_EQ(put(read, 0, 100), OB_DENIED);
  const Bytes before = contents(1, others, 100);
  EXPECT_EQ(get(write, 0, 100), OB_DENIED);
  EXPECT_EQ(contents(1, others, 100), before);
  expect_untouched();
}

TEST_P(GrantAttackTest, UsesAreCounted) {
  Address address{};
  grant(OB_MAY_READ, address, 2);
  EXPECT_EQ(get(address, 0, 100), OB_OK);
  EXPECT_EQ(get(address, 0, 100), OB_OK);
  EXPECT_EQ(get(address, 0, 100), OB_DENIED);
  EXPECT_EQ(get(address, 0, 100), OB_DENIED);
}

TEST_P(GrantAttackTest, TimeEndsAGrant) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address, 0, nullptr, 1);
  // Until the daemon's clock says so, uses may succeed.
  ob_status status = OB_OK;
  while (status == OB_OK) status = get(address, 0, 10);
  EXPECT_EQ(status, OB_DENIED);
  EXPECT_EQ(put(address, 0, 10), OB_DENIED);
  expect_untouched();
}

TEST_P(GrantAttackTest, AnotherUserIsDenied) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address, 0, "somebody-else");
  EXPECT_EQ(put(address, 0, 100), OB_DENIED);
  EXPECT_EQ(get(address, 0, 100), OB_DENIED);
  expect_untouched();
}

TEST_P(GrantAttackTest, RevokeAndTheBuffersEndEndAGrant) {
  Address address{}, second{};
  const ob_grant given = grant(OB_MAY_READ | OB_MAY_WRITE, address);
  grant(OB_MAY_READ | OB_MAY_WRITE, second);
  EXPECT_EQ(get(address, 0, 100), OB_OK);
  ASSERT_TRUE(succeeds(ob_grant_wait(given, queue[0], 1)));
  ASSERT_TRUE(succeeds(ob_grant_revoke(given)));
  EXPECT_TRUE(fails(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr), OB_DENIED, "revoked"));
  EXPECT_EQ(put(address, 0, 100), OB_DENIED);
  EXPECT_EQ(get(address, 0, 100), OB_DENIED);
  expect_untouched();
  EXPECT_EQ(get(second, 0, 100), OB_OK);
  ASSERT_TRUE(succeeds(ob_buffer_destroy(owned)));
  // The daemon has read the command when another one of the same connection is answered.
  ASSERT_TRUE(succeeds(ob_buffer_create(device[0], 64, OB_WAIT, &owned)));
  EXPECT_EQ(put(second, 0, 100), OB_DENIED);
  EXPECT_EQ(get(second, 0, 100), OB_DENIED);
}

TEST_P(GrantAttackTest, TheSessionsEndEndsAGrant) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address);
  EXPECT_EQ(get(address, 0, 100), OB_OK);
  ASSERT_TRUE(succeeds(ob_device_close(device[0])));
  device[0] = nullptr;
  // The daemon frees the session a moment after the connections have closed.
  ob_status status = OB_OK;
  while (status == OB_OK) status = get(address, 0, 100);
  EXPECT_EQ(status, OB_DENIED);
}

TEST_P(GrantAttackTest, ASecretOpensNothingAtAnotherDaemon) {
  if (daemons[1] == nullptr) GTEST_SKIP() << "one daemon";
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address);
  std::string elsewhere = address.data();
  const std::string right = daemons[0]->address();
  elsewhere.replace(elsewhere.find(right), right.size(), daemons[1]->address());
  Address wrong{};
  std::memcpy(wrong.data(), elsewhere.c_str(), elsewhere.size() + 1);
  EXPECT_EQ(put(wrong, 0, 100), OB_DENIED);
  EXPECT_EQ(get(wrong, 0, 100), OB_DENIED);
  expect_untouched();
}

// Several sessions use the last uses of a grant at the same time.
TEST_P(GrantAttackTest, ManyAtOnceGetNoMoreThanTheUses) {
  constexpr std::size_t kSessions = 4, kTries = 6;
  constexpr std::uint32_t kUses = 7;
  Address address{};
  grant(OB_MAY_READ, address, kUses);
  std::atomic<std::uint32_t> had{0}, denied{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kSessions; ++i) {
    threads.emplace_back([&] {
      ob_device own = nullptr;
      ob_queue its = nullptr;
      ob_buffer here = nullptr;
      open(daemons[daemons[1] != nullptr ? 1 : 0]->address(), own);
      ASSERT_TRUE(succeeds(ob_queue_create(own, 0, &its)));
      ASSERT_TRUE(succeeds(ob_buffer_create(own, kRange, 0, &here)));
      for (std::size_t k = 0; k < kTries; ++k) {
        ASSERT_TRUE(succeeds(ob_get(its, address.data(), 0, {here, 0}, kRange, nullptr)));
        const ob_status status = ob_queue_synchronize(its, OB_FOREVER, nullptr);
        ++(status == OB_OK ? had : denied);
        EXPECT_TRUE(status == OB_OK || status == OB_DENIED) << status;
      }
      EXPECT_TRUE(succeeds(ob_device_close(own)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(had, kUses);
  EXPECT_EQ(denied, kSessions * kTries - kUses);
}

// The end of a grant, or of its buffer, races with puts. After it nothing lands any more: neither
// in the range nor in memory that takes its place.
TEST_P(GrantAttackTest, NothingLandsAfterTheEndOfAGrant) {
  const Bytes sent = noise(kRange);
  ASSERT_TRUE(succeeds(ob_write(queue[1], {others, 0}, sent.data(), kRange, 0)));
  for (int round = 0; round < 12; ++round) {
    const bool frees = round % 2 == 1;
    Address address{};
    const ob_grant given = grant(OB_MAY_WRITE, address);
    std::atomic<bool> begun{false};
    std::thread sender([&] {
      // Puts go on until one is denied.
      ob_status status = OB_OK;
      while (status == OB_OK) {
        EXPECT_TRUE(succeeds(ob_put(queue[1], address.data(), 0, {others, 0}, kRange, nullptr)));
        begun = true;
        status = ob_queue_synchronize(queue[1], OB_FOREVER, nullptr);
      }
      EXPECT_TRUE(status == OB_DENIED || status == OB_UNAVAILABLE) << status;
    });
    while (!begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(uniform(engine, 0, 3000)));
    if (frees) {
      ASSERT_TRUE(succeeds(ob_buffer_destroy(owned)));
      ASSERT_TRUE(succeeds(ob_buffer_create(device[0], kBytes, OB_WAIT, &owned)));
    } else {
      ASSERT_TRUE(succeeds(ob_grant_revoke(given)));
      // The daemon has read the command when another one of the same connection is answered.
      ob_buffer answered = nullptr;
      ASSERT_TRUE(succeeds(ob_buffer_create(device[0], 64, OB_WAIT, &answered)));
      ASSERT_TRUE(succeeds(ob_buffer_destroy(answered)));
    }
    ASSERT_TRUE(succeeds(ob_write(queue[0], {owned, 0}, truth.data(), kBytes, 0)));
    expect_untouched();
    sender.join();
    expect_untouched();
  }
}

#ifdef OB_TEST_KEYS
TEST_P(GrantAttackTest, OnlyTheNamedUserIsAdmitted) {
  if (GetParam() != Way::over_tls) GTEST_SKIP() << "nobody proves a name here";
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address, 0, "client of good");
  EXPECT_EQ(get(address, 0, 100), OB_OK);
  EXPECT_EQ(put(address, 0, 100), OB_OK);
  std::memcpy(truth.data() + kBegin, contents(1, others, 100).data(), 100);
  expect_untouched();
  // Another member of the pool asks the same daemon.
  const ob_device_options options = options_with_key("other");
  ob_device other = nullptr;
  ob_queue its = nullptr;
  ob_buffer here = nullptr;
  ASSERT_TRUE(succeeds(ob_device_open(daemons[1]->address().c_str(), &options, &other)));
  ASSERT_TRUE(succeeds(ob_queue_create(other, 0, &its)));
  ASSERT_TRUE(succeeds(ob_buffer_create(other, 100, 0, &here)));
  ASSERT_TRUE(succeeds(ob_put(its, address.data(), 0, {here, 0}, 100, nullptr)));
  EXPECT_TRUE(fails(ob_queue_synchronize(its, OB_FOREVER, nullptr), OB_DENIED, "another user"));
  ASSERT_TRUE(succeeds(ob_get(its, address.data(), 0, {here, 0}, 100, nullptr)));
  EXPECT_TRUE(fails(ob_queue_synchronize(its, OB_FOREVER, nullptr), OB_DENIED, "another user"));
  EXPECT_TRUE(succeeds(ob_device_close(other)));
  expect_untouched();
}
#endif

INSTANTIATE_TEST_SUITE_P(at, GrantAttackTest, testing::ValuesIn(kGrantWays), way_name);

// --- connections that end in the middle ----------------------------------------------------------

class CutGrantTest : public GrantTest {
 protected:
  CutGrantTest() { through_proxy = true; }
  // Hands over a put whose connection ends after its header and a part of its data.
  void cut_a_put(const Address& address) {
    proxy->cut_after(kRange / 2);
    ASSERT_TRUE(succeeds(ob_put(queue[1], address.data(), 0, {others, 0}, kRange, nullptr)));
    EXPECT_TRUE(fails(ob_queue_synchronize(queue[1], OB_FOREVER, nullptr), OB_UNAVAILABLE,
                      "lost the daemon of a grant"));
    EXPECT_EQ(proxy->cut(), 1u);
  }
};

TEST_P(CutGrantTest, APutThatIsCutFailsAndTheNextOneLands) {
  Address address{};
  const ob_grant given = grant(OB_MAY_WRITE, address);
  const Bytes sent = noise(kRange);
  ASSERT_TRUE(succeeds(ob_write(queue[1], {others, 0}, sent.data(), kRange, 0)));
  cut_a_put(address);
  // It did not count as landed, and changed nothing beside its range.
  EXPECT_EQ(put(address, 0, kRange), OB_OK);
  ASSERT_TRUE(succeeds(ob_grant_wait(given, queue[0], 1)));
  std::memcpy(truth.data() + kBegin, sent.data(), kRange);
  expect_untouched();
}

// The daemon of the owner ends while the put is on its way.
TEST_P(CutGrantTest, ADaemonThatEndsFailsThePut) {
  Address address{};
  const ob_grant given = grant(OB_MAY_WRITE, address);
  EXPECT_EQ(put(address, 0, 1), OB_OK);
  ASSERT_TRUE(succeeds(ob_grant_wait(given, queue[0], 1000)));
  ASSERT_TRUE(succeeds(ob_queue_flush(queue[0])));
  daemons[0]->stop();
  EXPECT_EQ(put(address, 0, kRange), OB_UNAVAILABLE);
  EXPECT_NE(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr), OB_OK);
  (void)ob_device_close(device[0]);
  device[0] = nullptr;
}

INSTANTIATE_TEST_SUITE_P(at, CutGrantTest,
                         testing::Values(Way::two_daemons
#ifdef OB_TEST_KEYS
                                         ,
                                         Way::over_tls
#endif
                                         ),
                         way_name);

}  // namespace
}  // namespace ob::test
