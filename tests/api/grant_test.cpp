// Grants: puts and gets against an oracle on the host, and attacks, which must all fail.

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "api/fixture.hpp"
#include "backend/cpu/backend.hpp"
#include "support/random.hpp"
#ifdef OB_TEST_KEYS
#include "transport/security.hpp"
#endif

namespace ob::test {
namespace {

enum class Way { two_daemons, one_daemon, one_device, shared_memory, over_tls };

std::string way_name(const testing::TestParamInfo<Way>& info) {
  constexpr std::array names{"two_daemons", "one_daemon", "one_device", "shared_memory",
                             "over_tls"};
  return names[static_cast<std::size_t>(info.param)];
}

using Bytes = std::vector<std::uint8_t>;
using Address = std::array<char, OB_ADDRESS_BYTES>;

std::unique_ptr<Device> small_cpu() {
  return require(cpu::create({.memory_bytes = 1 << 28, .threads = 1, .gflops_double = 10}));
}

std::unique_ptr<InProcessDaemon> daemon_with(std::size_t devices, bool key,
                                             Transport transport = Transport::tcp) {
  std::vector<std::unique_ptr<Device>> made;
  for (std::size_t i = 0; i < devices; ++i) made.push_back(small_cpu());
  daemon::ServerConfig config;
#ifdef OB_TEST_KEYS
  if (key) {
    config.security =
        require(transport::load_key(OB_TEST_KEYS "/good", transport::Side::daemon, false));
  }
#else
  (void)key;
#endif
  return std::make_unique<InProcessDaemon>(transport, std::move(made), std::move(config));
}

// The owner of a buffer has the device 0, the other side the device 1.
class GrantTest : public testing::TestWithParam<Way> {
 protected:
  static constexpr std::uint64_t kBytes = 300000;

  void SetUp() override {
    const bool key = GetParam() == Way::over_tls;
    const bool shared = GetParam() == Way::shared_memory;
    daemons[0] = daemon_with(2, key, shared ? Transport::shm : Transport::tcp);
    if (GetParam() == Way::two_daemons || key) daemons[1] = daemon_with(1, key);
    const std::string first = daemons[0]->address() + (shared ? "" : "/0");
    const std::string& owner = first;
    const std::string other = daemons[1] != nullptr           ? daemons[1]->address()
                              : GetParam() == Way::one_daemon ? daemons[0]->address() + "/1"
                                                              : first;
    open(owner, device[0]);
    open(other, device[1]);
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(succeeds(ob_queue_create(device[i], 0, &queue[i])));
    }
    ASSERT_TRUE(succeeds(ob_buffer_create(device[0], kBytes, 0, &owned)));
    ASSERT_TRUE(succeeds(ob_buffer_create(device[1], kBytes, 0, &others)));
    truth = noise(kBytes);
    ASSERT_TRUE(succeeds(ob_write(queue[0], {owned, 0}, truth.data(), kBytes, 0)));
    ASSERT_TRUE(succeeds(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr)));
  }
  void TearDown() override {
    for (ob_device each : device) {
      if (each == nullptr) continue;
      EXPECT_TRUE(succeeds(ob_device_close(each)));
    }
  }
  void open(const std::string& where, ob_device& opened) {
    ob_device_options options{};
    options.struct_bytes = sizeof options;
#ifdef OB_TEST_KEYS
    if (GetParam() == Way::over_tls) options.key_folder = OB_TEST_KEYS "/good";
#endif
    ASSERT_TRUE(succeeds(ob_device_open(where.c_str(), &options, &opened)));
  }
  Bytes noise(std::size_t bytes) {
    Bytes made(bytes);
    for (auto& each : made) each = static_cast<std::uint8_t>(engine());
    return made;
  }
  // A grant of the middle of the buffer.
  static constexpr std::uint64_t kBegin = 1000, kRange = 200000;
  ob_grant grant(std::uint32_t may, Address& address, std::uint32_t uses = 0,
                 const char* user = nullptr, std::uint32_t seconds = 600) {
    ob_grant made = nullptr;
    EXPECT_TRUE(succeeds(
        ob_grant_create(owned, kBegin, kRange, may, user, seconds, uses, address.data(), &made)));
    return made;
  }
  ob_status put(const Address& address, std::uint64_t offset, std::uint64_t bytes) {
    EXPECT_TRUE(succeeds(ob_put(queue[1], address.data(), offset, {others, 0}, bytes, nullptr)));
    return ob_queue_synchronize(queue[1], OB_FOREVER, nullptr);
  }
  ob_status get(const Address& address, std::uint64_t offset, std::uint64_t bytes) {
    EXPECT_TRUE(succeeds(ob_get(queue[1], address.data(), offset, {others, 0}, bytes, nullptr)));
    return ob_queue_synchronize(queue[1], OB_FOREVER, nullptr);
  }
  Bytes contents(std::size_t side, ob_buffer from, std::size_t bytes) {
    Bytes read(bytes);
    EXPECT_TRUE(succeeds(ob_read(queue[side], read.data(), {from, 0}, bytes, OB_WAIT)));
    return read;
  }
  void expect_untouched() { EXPECT_TRUE(contents(0, owned, kBytes) == truth); }

  // Elements that arrive for a later write must not overtake a wait.
  void expect_waits() {
    Address address{};
    const ob_grant given = grant(OB_MAY_READ | OB_MAY_WRITE, address);
    ob_event landed = nullptr;
    ASSERT_TRUE(succeeds(ob_event_create(device[1], 0, &landed)));
    const Bytes sent = noise(kRange);
    ASSERT_TRUE(succeeds(ob_grant_wait(given, queue[0], 1)));
    const Bytes later = noise(100);
    std::thread owner([&] {  // its connection waits with its queue
      EXPECT_TRUE(succeeds(ob_write(queue[0], {owned, kBegin}, later.data(), 100, OB_CAPTURE)));
      EXPECT_TRUE(succeeds(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr)));
    });
    ASSERT_TRUE(succeeds(ob_write(queue[1], {others, 0}, sent.data(), kRange, 0)));
    ASSERT_TRUE(succeeds(ob_put(queue[1], address.data(), 0, {others, 0}, kRange, landed)));
    EXPECT_TRUE(succeeds(ob_event_wait(landed, OB_FOREVER)));
    owner.join();
    std::memcpy(truth.data() + kBegin, sent.data(), kRange);
    std::memcpy(truth.data() + kBegin, later.data(), 100);
    expect_untouched();
  }

  std::array<std::unique_ptr<InProcessDaemon>, 2> daemons;
  std::array<ob_device, 2> device{};
  std::array<ob_queue, 2> queue{};
  ob_buffer owned = nullptr;
  ob_buffer others = nullptr;
  Bytes truth;
  std::mt19937_64 engine{test_seed()};
};

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

TEST_P(GrantTest, AForgedSecretOpensNothing) {
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

TEST_P(GrantTest, OneByteBeyondIsRefused) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address);
  EXPECT_EQ(put(address, 1, kRange), OB_INVALID_ARGUMENT);
  EXPECT_EQ(put(address, kRange, 1), OB_INVALID_ARGUMENT);
  EXPECT_EQ(put(address, UINT64_MAX, 1), OB_INVALID_ARGUMENT);
  EXPECT_EQ(get(address, kRange - 1, 2), OB_INVALID_ARGUMENT);
  expect_untouched();
  EXPECT_EQ(get(address, kRange - 1, 1), OB_OK);
}

TEST_P(GrantTest, TheDirectionHolds) {
  Address read{}, write{};
  grant(OB_MAY_READ, read);
  grant(OB_MAY_WRITE, write);
  EXPECT_EQ(put(read, 0, 100), OB_DENIED);
  const Bytes before = contents(1, others, 100);
  EXPECT_EQ(get(write, 0, 100), OB_DENIED);
  EXPECT_EQ(contents(1, others, 100), before);
  expect_untouched();
}

TEST_P(GrantTest, UsesAreCounted) {
  Address address{};
  grant(OB_MAY_READ, address, 2);
  EXPECT_EQ(get(address, 0, 100), OB_OK);
  EXPECT_EQ(get(address, 0, 100), OB_OK);
  EXPECT_EQ(get(address, 0, 100), OB_DENIED);
  EXPECT_EQ(get(address, 0, 100), OB_DENIED);
}

TEST_P(GrantTest, TimeEndsAGrant) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address, 0, nullptr, 1);
  // Until the daemon's clock says so, uses may succeed.
  ob_status status = OB_OK;
  while (status == OB_OK) status = get(address, 0, 10);
  EXPECT_EQ(status, OB_DENIED);
  EXPECT_EQ(put(address, 0, 10), OB_DENIED);
  expect_untouched();
}

TEST_P(GrantTest, AnotherUserIsDenied) {
  Address address{};
  grant(OB_MAY_READ | OB_MAY_WRITE, address, 0, "somebody-else");
  EXPECT_EQ(put(address, 0, 100), OB_DENIED);
  EXPECT_EQ(get(address, 0, 100), OB_DENIED);
  expect_untouched();
}

TEST_P(GrantTest, RevokeAndTheBuffersEndEndAGrant) {
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

TEST_P(GrantTest, TheSessionsEndEndsAGrant) {
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

// The other daemon ends between the header of a put and its data.
TEST_P(GrantTest, ADaemonThatEndsFailsThePut) {
  if (daemons[1] == nullptr) GTEST_SKIP() << "one daemon";
  Address address{};
  const ob_grant given = grant(OB_MAY_WRITE, address);
  EXPECT_EQ(put(address, 0, 1), OB_OK);
  // The owner's queue holds the buffer, so the put waits there.
  ASSERT_TRUE(succeeds(ob_grant_wait(given, queue[0], 1000)));
  ASSERT_TRUE(succeeds(ob_fill(queue[0], {owned, 0}, "z", 1, kBytes)));
  // The daemon reads the commands meanwhile, so that the put comes after them.
  EXPECT_EQ(ob_queue_synchronize(queue[0], 500, nullptr), OB_DEADLINE_EXCEEDED);
  ASSERT_TRUE(succeeds(ob_put(queue[1], address.data(), 0, {others, 0}, kRange, nullptr)));
  ASSERT_TRUE(succeeds(ob_queue_flush(queue[1])));
  daemons[0]->stop();
  // It lands if the end of the session lets it through before the stream ends.
  const ob_status ended = ob_queue_synchronize(queue[1], OB_FOREVER, nullptr);
  EXPECT_TRUE(ended == OB_UNAVAILABLE || ended == OB_OK) << ended;
  EXPECT_NE(ob_queue_synchronize(queue[0], OB_FOREVER, nullptr), OB_OK);
  (void)ob_device_close(device[0]);
  device[0] = nullptr;
}

std::vector<Way> ways() {
#ifdef OB_TEST_KEYS
  return {Way::two_daemons, Way::one_daemon, Way::one_device, Way::over_tls};
#else
  return {Way::two_daemons, Way::one_daemon, Way::one_device};
#endif
}
INSTANTIATE_TEST_SUITE_P(at, GrantTest, testing::ValuesIn(ways()), way_name);

// Copies go straight into mapped buffers there.
class MappedGrantTest : public GrantTest {};
TEST_P(MappedGrantTest, QueuesWaitForWhatLands) { expect_waits(); }
INSTANTIATE_TEST_SUITE_P(at, MappedGrantTest, testing::Values(Way::shared_memory), way_name);

}  // namespace
}  // namespace ob::test
