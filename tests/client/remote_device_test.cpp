// Tests beyond the conformance suite: caching, memory pressure, mapped buffers, broken
// connections.

#include "client/remote_device.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include "support/dgemm.hpp"
#include "support/forwarding_device.hpp"
#include "support/stub_server.hpp"

namespace ob::client {
namespace {

using test::Bytes;
using test::InProcessDaemon;
using test::line;
using test::require;
using test::Transport;

constexpr std::uint64_t kMemoryBytes = 32 << 20;

class RemoteDeviceTest : public testing::TestWithParam<Transport> {
 protected:
  std::unique_ptr<RemoteDevice> open() { return require(RemoteDevice::open(daemon.address())); }

  Status write(BufferId buffer, Bytes& bytes) {
    return device->write(queue, buffer, line(bytes.size()),
                         Layout::bytes(bytes.data(), bytes.size()));
  }
  Status read(BufferId buffer, Bytes& bytes) {
    return device->read(queue, buffer, line(bytes.size()),
                        Layout::bytes(bytes.data(), bytes.size()));
  }
  // A call that only the daemon refuses: its leading dimension is illegal.
  Status bad_call(BufferId c) {
    Argument arguments[kMaxArguments];
    test::square_dgemm_in_buffer(50, c, arguments);
    test::argument_named(arguments, test::dgemm(), "c").device.ld = 1;
    return device->call(queue, test::dgemm(), arguments);
  }
  // A call that keeps this device busy for n^3 / 10^7 seconds without a result. It reads `a`.
  Status call(std::int64_t n, BufferId a) {
    Argument arguments[kMaxArguments];
    const auto bytes = static_cast<std::uint64_t>(n * n) * sizeof(double);
    test::square_dgemm_on_device(n, a, a, require(device->allocate(bytes)), arguments);
    return device->call(queue, test::dgemm(), arguments);
  }

  std::vector<std::unique_ptr<Device>> devices() {
    auto all = test::one(test::null_device(kMemoryBytes, 0.02));
    inner = all.front().get();
    return all;
  }

  Device* inner = nullptr;
  InProcessDaemon daemon{GetParam(), devices()};
  std::unique_ptr<RemoteDevice> device = open();
  QueueId queue = require(device->create_queue());
};

TEST_P(RemoteDeviceTest, SaysHowLongWorkWaitedForItsTurn) {
  const auto other = open();
  const QueueId others = require(other->create_queue());
  Argument arguments[kMaxArguments];
  const BufferId buffer = require(other->allocate(2 * 131072));
  test::square_dgemm_in_buffer(128, buffer, arguments);
  ASSERT_TRUE(other->call(others, test::dgemm(), arguments).ok());
  ASSERT_TRUE(other->flush().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  ASSERT_TRUE(call(128, require(device->allocate(131072))).ok());
  const QueueReport report = device->synchronize(queue);
  EXPECT_TRUE(report.status.ok()) << report.status.message();
  EXPECT_GT(report.waited_ns, 0u);
  EXPECT_GE(report.compute_ns, 200'000'000u);
  EXPECT_EQ(device->synchronize(queue).waited_ns, 0u);
  EXPECT_EQ(other->synchronize(others).waited_ns, 0u);
}

TEST_P(RemoteDeviceTest, TellsTheDeviceHowExactItsWorkIsToBe) {
  const auto inner = test::null_device(kMemoryBytes);
  auto watched = std::make_unique<test::ForwardingDevice>(*inner);
  watched->distinguish(0b0100);
  const test::ForwardingDevice& seen = *watched;
  const InProcessDaemon server(GetParam(), test::one(std::move(watched)));
  const auto remote = require(RemoteDevice::open(server.address()));
  EXPECT_EQ(remote->info().accuracies, 0b0100);
  const QueueId first = require(remote->create_queue());
  for (const Accuracy mode : {Accuracy::standard, Accuracy::fast, Accuracy::fast}) {
    EXPECT_TRUE(remote->set_accuracy(first, mode).ok());
  }
  EXPECT_TRUE(remote->synchronize(first).status.ok());
  EXPECT_EQ(seen.demands(), std::vector{Accuracy::fast});  // only changes are sent
  EXPECT_FALSE(remote->set_accuracy(QueueId{999}, Accuracy::strict).ok());
}

// The clients together keep half of the device, in equal parts. Half of a part is for freed
// buffers.
TEST_P(RemoteDeviceTest, KeepsLessWhenOthersCome) {
  std::vector<BufferId> kept;
  const auto keep = [&] {
    for (int i = 0; i < 8; ++i) {
      const BufferId buffer = require(device->allocate(1 << 20));
      Bytes some(64);
      EXPECT_TRUE(write(buffer, some).ok());
      EXPECT_TRUE(device->synchronize(queue).status.ok());
      kept.push_back(buffer);
    }
    for (const BufferId buffer : kept) EXPECT_TRUE(device->free(buffer).ok());
    kept.clear();
    EXPECT_TRUE(device->synchronize(queue).status.ok());
    return inner->memory_use().used_bytes;
  };
  EXPECT_GE(keep(), std::uint64_t{4} << 20);
  EXPECT_EQ(device->keep_bytes(), kMemoryBytes / 2);
  std::vector<std::unique_ptr<RemoteDevice>> others;
  for (int i = 0; i < 7; ++i) others.push_back(open());
  EXPECT_TRUE(device->synchronize(queue).status.ok());  // the client gets the news
  EXPECT_EQ(device->keep_bytes(), kMemoryBytes / 16);
  EXPECT_LE(keep(), kMemoryBytes / 32);
}

// A command that is refused because others wait does not affect the connection, queue and buffers.
TEST_P(RemoteDeviceTest, ARefusalForTheSakeOfOthersBreaksNothing) {
  const InProcessDaemon bounded(
      GetParam(),
      test::one(require(null::create(
          {.memory_bytes = kMemoryBytes, .rate_gflops = 0.01, .longest_command_s = 0.05}))));
  struct Client {
    std::unique_ptr<RemoteDevice> device;
    QueueId queue;
    BufferId buffer;
    Status start() {
      Argument arguments[kMaxArguments];
      test::square_dgemm_in_buffer(128, buffer, arguments);
      OB_RETURN_IF_ERROR(device->call(queue, test::dgemm(), arguments));
      return device->flush();
    }
  };
  std::vector<Client> clients(3);
  for (Client& client : clients) {
    client.device = require(RemoteDevice::open(bounded.address()));
    client.queue = require(client.device->create_queue());
    client.buffer = require(client.device->allocate(2 * 131072));
  }
  const auto end = [](Client& client) { return client.device->synchronize(client.queue).status; };
  ASSERT_TRUE(clients[0].start().ok());
  ASSERT_TRUE(end(clients[0]).ok());
  int refused = 0;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(clients[0].start().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (const int i : {1, 2}) ASSERT_TRUE(clients[i].start().ok());
    for (Client& client : clients) {
      const Status status = end(client);
      EXPECT_FALSE(client.device->broken());
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), Code::busy) << status.message();
      ++refused;
    }
    for (Client& client : clients) {
      ASSERT_TRUE(client.start().ok());
      const Status status = end(client);
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  EXPECT_EQ(refused, 2);
}

TEST_P(RemoteDeviceTest, FreedBuffersAreUsedAgain) {
  Bytes bytes(5000, std::byte{1});
  const BufferId first = require(device->allocate(5000));
  ASSERT_TRUE(write(first, bytes).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  ASSERT_TRUE(device->free(first).ok());
  EXPECT_TRUE(device->has_cached_buffers());
  EXPECT_FALSE(device->free(first).ok()) << "freed twice";
  EXPECT_FALSE(write(first, bytes).ok()) << "used after free";
  EXPECT_EQ(device->host_view(first), nullptr);
  EXPECT_EQ(require(device->allocate(5000)), first);
  EXPECT_FALSE(device->has_cached_buffers());
}

TEST_P(RemoteDeviceTest, ManySmallBuffersAreNotAllMapped) {
  constexpr std::size_t kCount = 300;
  std::vector<BufferId> all;
  std::vector<Bytes> contents;
  std::size_t mapped = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    all.push_back(require(device->allocate(8 + i * 100)));
    mapped += device->host_view(all.back()) != nullptr ? 1 : 0;
    contents.emplace_back(8 + i * 100, static_cast<std::byte>(i % 251 + 1));
    ASSERT_TRUE(write(all.back(), contents.back()).ok());
  }
  EXPECT_EQ(mapped, GetParam() == Transport::shm ? 32u : 0u);
  std::vector<Bytes> seen;
  for (const Bytes& written : contents) seen.emplace_back(written.size(), std::byte{0xee});
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(read(all[i], seen[i]).ok());
    if (i % 64 == 63) ASSERT_TRUE(device->synchronize(queue).status.ok());
  }
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(seen, contents);
  ASSERT_TRUE(device->free(all[0]).ok());  // mapped, then cached
  for (std::size_t i = 1; i < kCount; ++i) ASSERT_TRUE(device->free(all[i]).ok());
  for (int i = 0; i < 3; ++i) {  // those that left the cache are unmapped: new ones can be mapped
    if (GetParam() == Transport::shm) {
      EXPECT_NE(device->host_view(require(device->allocate(40'000 + i * 10'000))), nullptr);
    }
  }
}

TEST_P(RemoteDeviceTest, BuffersThatMayNotExistAreNotCached) {
  if (GetParam() == Transport::shm) GTEST_SKIP() << "a mapped buffer exists";
  const BufferId buffer = require(device->allocate(5000));
  const QueueId other = require(device->create_queue());
  ASSERT_TRUE(device->synchronize(queue).status.ok());  // proves nothing of an unused buffer
  ASSERT_TRUE(device->free(buffer).ok());
  EXPECT_FALSE(device->has_cached_buffers());
  const BufferId missing = require(device->allocate(2 * kMemoryBytes));
  Bytes bytes(10);
  ASSERT_TRUE(write(missing, bytes).ok());
  ASSERT_TRUE(device->synchronize(other).status.ok());
  EXPECT_EQ(device->synchronize(queue).status.code(), Code::out_of_memory);
  ASSERT_TRUE(device->free(missing).ok());
  EXPECT_FALSE(device->has_cached_buffers());
  EXPECT_FALSE(device->broken());
}

TEST_P(RemoteDeviceTest, CachedBuffersMakeRoom) {
  Bytes bytes(8, std::byte{1});
  for (int i = 0; i < 4; ++i) {
    const BufferId buffer = require(device->allocate((1 << 20) + i * (512 << 10)));
    ASSERT_TRUE(write(buffer, bytes).ok());
    ASSERT_TRUE(device->synchronize(queue).status.ok());
    ASSERT_TRUE(device->free(buffer).ok());
  }
  ASSERT_TRUE(device->has_cached_buffers());
  auto large = device->allocate(kMemoryBytes);
  Status status = large.status();
  if (large.ok()) {
    ASSERT_TRUE(write(*large, bytes).ok());
    status = device->synchronize(queue).status;
  }
  if (!status.ok()) {  // tcp reports it late: the caller drops the caches and retries
    ASSERT_EQ(status.code(), Code::out_of_memory);
    ASSERT_TRUE(device->free(*large).ok());
    ASSERT_TRUE(device->drop_cached_buffers().ok());
    large = device->allocate(kMemoryBytes);
    ASSERT_TRUE(large.ok());
    ASSERT_TRUE(write(*large, bytes).ok());
    status = device->synchronize(queue).status;
  }
  EXPECT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(device->free(*large).ok());
}

TEST_P(RemoteDeviceTest, AReadSeesWhatWasThereBeforeLaterWriters) {
  const BufferId buffer = require(device->allocate(8 * 100 * 100));
  Bytes first(8 * 100 * 100, std::byte{1});
  Bytes second(first.size(), std::byte{2});
  Bytes got(first.size(), std::byte{0xA5});
  Bytes later(first.size(), std::byte{0xA5});
  ASSERT_TRUE(write(buffer, first).ok());
  ASSERT_TRUE(call(100, buffer).ok());  // 0.1 s in which the read is pending
  ASSERT_TRUE(read(buffer, got).ok());
  ASSERT_TRUE(write(buffer, second).ok());
  ASSERT_TRUE(read(buffer, later).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_TRUE(got == first);
  EXPECT_TRUE(later == second);
}

TEST_P(RemoteDeviceTest, ABufferFreedWithAReadPendingIsReadFirst) {
  Bytes first(8 * 100 * 100, std::byte{1});
  Bytes second(first.size(), std::byte{2});
  Bytes got(first.size(), std::byte{0xA5});
  const BufferId buffer = require(device->allocate(first.size()));
  ASSERT_TRUE(write(buffer, first).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  ASSERT_TRUE(call(100, buffer).ok());
  ASSERT_TRUE(read(buffer, got).ok());
  ASSERT_TRUE(device->free(buffer).ok());
  const BufferId again = require(device->allocate(first.size()));
  ASSERT_TRUE(write(again, second).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_TRUE(got == first);
}

TEST_P(RemoteDeviceTest, AFailureHeardOnTheWayIsKeptForSynchronize) {
  const BufferId small = require(device->allocate(8));
  Bytes bytes(8 * 50 * 50, std::byte{1});
  ASSERT_TRUE(bad_call(small).ok());  // command 1
  Bytes eight(8, std::byte{3});
  ASSERT_TRUE(read(small, eight).ok());
  ASSERT_TRUE(device->free(small).ok());  // over shm this waits for the queue
  const BufferId other = require(device->allocate(bytes.size()));
  ASSERT_TRUE(write(other, bytes).ok());
  const QueueReport report = device->synchronize(queue);
  EXPECT_EQ(report.status.code(), Code::invalid_argument) << report.status.message();
  EXPECT_EQ(report.failed_command, 1u);
  EXPECT_TRUE(device->synchronize(queue).status.ok());
}

TEST_P(RemoteDeviceTest, TheFailedCommandIsCounted) {
  const BufferId small = require(device->allocate(64));
  Bytes bytes(64);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(write(small, bytes).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  ASSERT_TRUE(write(small, bytes).ok());
  ASSERT_TRUE(bad_call(small).ok());  // command 5
  ASSERT_TRUE(write(small, bytes).ok());
  EXPECT_EQ(device->synchronize(queue).failed_command, 5u);
}

TEST_P(RemoteDeviceTest, EventsDoNotRunOut) {
  for (int i = 0; i < 100000; ++i) {
    const EventId event = require(device->create_event());
    if (i % 64 == 0) {
      ASSERT_TRUE(device->record(queue, event).ok());
    }
    ASSERT_TRUE(device->destroy_event(event).ok());
  }
  EXPECT_TRUE(device->synchronize(queue).status.ok());
}

TEST_P(RemoteDeviceTest, PlansAreRememberedAndBounded) {
  FftPlan plan;
  plan.rank = 1;
  plan.n[0] = 8;
  const PlanId first = require(device->plan_for(plan));
  EXPECT_EQ(require(device->plan_for(plan)), first);
  for (std::uint64_t n = 9; n < 500; ++n) {
    plan.n[0] = n;
    ASSERT_TRUE(device->plan_for(plan).ok());
  }
  plan.n[0] = 8;
  EXPECT_NE(require(device->plan_for(plan)), first);
  EXPECT_TRUE(device->drop_cached_plans().ok());
  EXPECT_TRUE(device->synchronize(queue).status.ok());
}

TEST_P(RemoteDeviceTest, ABrokenDeviceRefusesEverythingAndTouchesNothing) {
  Bytes bytes(8 * 100 * 100, std::byte{1});
  Bytes got(bytes.size(), std::byte{0xA5});
  const BufferId buffer = require(device->allocate(bytes.size()));
  ASSERT_TRUE(write(buffer, bytes).ok());
  ASSERT_TRUE(call(100, buffer).ok());
  ASSERT_TRUE(read(buffer, got).ok());
  daemon.stop();
  EXPECT_FALSE(device->synchronize(queue).status.ok());
  EXPECT_TRUE(device->broken());
  EXPECT_EQ(write(buffer, bytes).code(), Code::connection_lost);
  EXPECT_EQ(device->synchronize(queue).status.code(), Code::connection_lost);
  EXPECT_EQ(device->allocate(10).status().code(), Code::connection_lost);
  EXPECT_FALSE(device->create_queue().ok());
  EXPECT_FALSE(device->make_plan({}).ok());
  EXPECT_TRUE(device->free(buffer).ok());
  // Either the whole read arrived before the end, or no part of it landed.
  EXPECT_TRUE(got == bytes || got == Bytes(bytes.size(), std::byte{0xA5}));
}

INSTANTIATE_TEST_SUITE_P(over, RemoteDeviceTest, testing::Values(Transport::tcp, Transport::shm),
                         test::name);

TEST(RemoteDevice, ASilentDaemonBreaksIt) {
  test::StubServer server([](transport::Stream&) {});
  const Timeouts timeouts{.connect_ms = 2000, .ping_after_ms = 50, .dead_after_ms = 150};
  auto device = require(RemoteDevice::open(server.address(), {.timeouts = timeouts}));
  const QueueId queue = require(device->create_queue());
  Bytes got(64, std::byte{0xA5});
  const BufferId buffer = require(device->allocate(64));
  ASSERT_TRUE(device->read(queue, buffer, line(64), Layout::bytes(got.data(), 64)).ok());
  EXPECT_EQ(device->synchronize(queue).status.code(), Code::deadline_exceeded);
  EXPECT_TRUE(device->broken());
  EXPECT_EQ(got, Bytes(64, std::byte{0xA5}));
}

}  // namespace
}  // namespace ob::client
