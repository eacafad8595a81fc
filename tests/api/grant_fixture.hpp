#pragma once
// Two sides of grants: the owner of a buffer, and a device that puts into it and gets from it.

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api/fixture.hpp"
#include "backend/cpu/backend.hpp"
#include "support/cutting_proxy.hpp"
#include "support/random.hpp"

namespace ob::test {

enum class Way { two_daemons, one_daemon, one_device, shared_memory, over_tls };

inline std::string way_name(const testing::TestParamInfo<Way>& info) {
  constexpr std::array names{"two_daemons", "one_daemon", "one_device", "shared_memory",
                             "over_tls"};
  return names[static_cast<std::size_t>(info.param)];
}

inline std::unique_ptr<InProcessDaemon> grant_daemon(std::size_t devices, bool key,
                                                     Transport transport = Transport::tcp) {
  std::vector<std::unique_ptr<Device>> made;
  for (std::size_t i = 0; i < devices; ++i) {
    made.push_back(
        require(cpu::create({.memory_bytes = 1 << 28, .threads = 1, .gflops_double = 10})));
  }
  return std::make_unique<InProcessDaemon>(transport, std::move(made),
                                           key ? with_key() : daemon::ServerConfig());
}

// The owner of a buffer has the device 0, the other side the device 1.
class GrantTest : public testing::TestWithParam<Way> {
 protected:
  using Bytes = std::vector<std::uint8_t>;
  using Address = std::array<char, OB_ADDRESS_BYTES>;
  static constexpr std::uint64_t kBytes = 300000;

  void SetUp() override {
    const bool key = GetParam() == Way::over_tls;
    const bool shared = GetParam() == Way::shared_memory;
    daemons[0] = grant_daemon(2, key, shared ? Transport::shm : Transport::tcp);
    if (GetParam() == Way::two_daemons || key) daemons[1] = grant_daemon(1, key);
    const std::string owner = daemons[0]->address() + (shared ? "" : "/0");
    const std::string other = daemons[1] != nullptr           ? daemons[1]->address()
                              : GetParam() == Way::one_daemon ? daemons[0]->address() + "/1"
                                                              : owner;
    if (through_proxy && !shared) proxy = std::make_unique<CuttingProxy>(daemons[0]->address());
    open(proxy != nullptr ? proxy->address() + "/0" : owner, device[0]);
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
  void open(const std::string& where, ob_device& opened) const {
    const ob_device_options options = options_with_key();
    ASSERT_TRUE(succeeds(
        ob_device_open(where.c_str(), GetParam() == Way::over_tls ? &options : nullptr, &opened)));
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

  bool through_proxy = false;  ///< the address of a grant leads through a proxy
  std::array<std::unique_ptr<InProcessDaemon>, 2> daemons;
  std::unique_ptr<CuttingProxy> proxy;
  std::array<ob_device, 2> device{};
  std::array<ob_queue, 2> queue{};
  ob_buffer owned = nullptr;
  ob_buffer others = nullptr;
  Bytes truth;
  std::mt19937_64 engine{test_seed()};
};

/// The ways of a test program. TLS is one of them if the build makes keys.
inline constexpr Way kGrantWays[] = {
    Way::two_daemons,
    Way::one_daemon,
    Way::one_device,
#ifdef OB_TEST_KEYS
    Way::over_tls,
#endif
};

}  // namespace ob::test
