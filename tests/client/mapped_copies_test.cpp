// Copies of a SharedDevice straight into and out of mapped buffers: which of them are messages,
// that the order of commands holds, and failures.

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "client/shared_device.hpp"
#include "support/dgemm.hpp"
#include "support/in_process_daemon.hpp"
#include "support/random.hpp"

namespace ob::client {
namespace {

using test::InProcessDaemon;
using test::require;
using test::uniform;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kBytes = 1000;
constexpr std::byte kPoison{0xEE};

Bytes random_bytes(std::mt19937_64& random, std::size_t count) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Region part(std::uint64_t offset, std::uint64_t bytes) {
  return {.offset_bytes = offset, .rows = bytes, .cols = 1, .ld = bytes};
}

Layout all_of(Bytes& bytes) { return Layout::bytes(bytes.data(), bytes.size()); }

class MappedCopiesTest : public testing::Test {
 protected:
  BufferId buffer(std::size_t bytes = kBytes) { return require(device->allocate(bytes)); }
  Status write(BufferId to, Bytes& from) {
    return device->write(queue, to, part(0, from.size()), all_of(from));
  }
  Status read(Bytes& to, BufferId from) {
    return device->read(queue, from, part(0, to.size()), all_of(to));
  }
  // A call that keeps the device busy for n^3 / 10^7 s, and uses only memory of its own.
  void keep_busy(QueueId on, std::int64_t n = 60) {
    if (own.value == 0) own = buffer(2 * 64 * 64 * sizeof(double));
    Argument arguments[kMaxArguments];
    test::square_dgemm_in_buffer(n, own, arguments);
    ASSERT_TRUE(device->call(on, test::dgemm(), arguments).ok());
  }
  // A call that only the daemon refuses: its leading dimension is illegal.
  void fail() {
    Argument arguments[kMaxArguments];
    test::square_dgemm_in_buffer(30, buffer(2 * 30 * 30 * sizeof(double)), arguments);
    test::argument_named(arguments, test::dgemm(), "c").device.ld = 1;
    ASSERT_TRUE(device->call(queue, test::dgemm(), arguments).ok());
  }
  // The copies that were no messages, since the last call.
  std::uint64_t mapped() {
    return device->mapped_copies() - std::exchange(seen, device->mapped_copies());
  }

  InProcessDaemon daemon{test::Transport::shm, test::one(test::null_device(32 << 20, 0.02))};
  std::unique_ptr<SharedDevice> device = require(SharedDevice::open(daemon.address(), {}, 1));
  QueueId queue = require(device->create_queue());
  BufferId own;
  std::uint64_t seen = 0;
};

TEST_F(MappedCopiesTest, CopiesOfIdleBuffersAreNoMessages) {
  auto random = test::fresh_random();
  Bytes sent = random_bytes(random, kBytes);
  Bytes received(kBytes, kPoison);
  const BufferId on_device = buffer();
  ASSERT_TRUE(write(on_device, sent).ok());
  ASSERT_TRUE(read(received, on_device).ok());
  EXPECT_EQ(received, sent);  // at once
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(mapped(), 2u);
}

TEST_F(MappedCopiesTest, SmallCopiesMapNothing) {
  device = require(SharedDevice::open(daemon.address()));
  queue = require(device->create_queue());
  const BufferId large = buffer(1 << 20);
  Bytes sent(64, std::byte{5});
  ASSERT_TRUE(write(large, sent).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(mapped(), 0u);
  Bytes all(SharedDevice::kLeastMappedBytes, std::byte{6});
  ASSERT_TRUE(write(large, all).ok());
  ASSERT_TRUE(write(large, sent).ok());  // the mapping is there now
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(mapped(), 2u);
}

TEST_F(MappedCopiesTest, AWriteToABusyBufferIsAMessage) {
  auto random = test::fresh_random();
  Bytes first = random_bytes(random, kBytes);
  Bytes second = random_bytes(random, kBytes);
  const BufferId on_device = buffer();
  ASSERT_TRUE(write(on_device, first).ok());
  EXPECT_EQ(mapped(), 1u);
  keep_busy(queue);
  Bytes received(kBytes, kPoison);
  ASSERT_TRUE(read(received, on_device).ok());
  ASSERT_TRUE(device->flush(queue).ok());      // the read is a message now
  ASSERT_TRUE(write(on_device, second).ok());  // and needs what is there
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(received, first);
  EXPECT_EQ(mapped(), 0u);
  ASSERT_TRUE(read(received, on_device).ok());  // idle again
  EXPECT_EQ(received, second);
  ASSERT_TRUE(write(on_device, first).ok());
  EXPECT_EQ(mapped(), 2u);
}

// A wait for an event tells that the queue of the record is there, too.
TEST_F(MappedCopiesTest, AWaitedEventFreesTheBuffersBeforeIt) {
  auto random = test::fresh_random();
  Bytes bytes = random_bytes(random, kBytes);
  const BufferId on_device = buffer();
  const EventId event = require(device->create_event());
  const QueueId watch = require(device->create_queue());
  ASSERT_TRUE(device->fill(queue, on_device, part(0, kBytes), std::array{std::byte{1}}).ok());
  ASSERT_TRUE(device->record(queue, event).ok());
  keep_busy(queue);
  ASSERT_TRUE(device->wait(watch, event).ok());
  ASSERT_TRUE(device->synchronize(watch).status.ok());
  ASSERT_TRUE(write(on_device, bytes).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(mapped(), 1u);
}

TEST_F(MappedCopiesTest, ReadsBecomeMessagesWhenCommandsFollow) {
  auto random = test::fresh_random();
  Bytes first = random_bytes(random, kBytes);
  Bytes second = random_bytes(random, kBytes);
  const BufferId on_device = buffer();
  ASSERT_TRUE(write(on_device, first).ok());
  keep_busy(queue);
  std::array<Bytes, 3> received{Bytes(kBytes, kPoison), Bytes(kBytes, kPoison),
                                Bytes(kBytes, kPoison)};
  ASSERT_TRUE(read(received[0], on_device).ok());
  ASSERT_TRUE(read(received[1], on_device).ok());
  ASSERT_TRUE(write(on_device, second).ok());
  ASSERT_TRUE(read(received[2], on_device).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(received[0], first);
  EXPECT_EQ(received[1], first);
  EXPECT_EQ(received[2], second);
  EXPECT_EQ(mapped(), 2u);  // the first write and the last read
}

// The number of the failed command counts all commands, also those that were no messages.
TEST_F(MappedCopiesTest, FailuresStick) {
  auto random = test::fresh_random();
  Bytes bytes = random_bytes(random, kBytes);
  const BufferId on_device = buffer();
  ASSERT_TRUE(write(on_device, bytes).ok());
  keep_busy(queue);
  Bytes before(kBytes, kPoison);
  Bytes after(kBytes, kPoison);
  ASSERT_TRUE(read(before, on_device).ok());
  fail();
  ASSERT_TRUE(read(after, on_device).ok());
  QueueReport report = device->synchronize(queue);
  EXPECT_EQ(report.status.code(), Code::invalid_argument);
  EXPECT_EQ(report.failed_command, 4u);
  EXPECT_EQ(before, bytes);
  EXPECT_EQ(after, Bytes(kBytes, kPoison));
  // The same with a wait that has a limit, and whose question stays on its way.
  keep_busy(queue, 64);
  fail();
  ASSERT_TRUE(read(after, on_device).ok());
  EXPECT_FALSE(device->await(queue, true, std::chrono::steady_clock::now()));
  ASSERT_TRUE(read(after, on_device).ok());
  report = *device->await(queue, true, transport::Deadline::max());
  EXPECT_EQ(report.failed_command, 7u);
  EXPECT_EQ(after, Bytes(kBytes, kPoison));
  ASSERT_TRUE(read(after, on_device).ok());
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(after, bytes);
}

TEST_F(MappedCopiesTest, ReadsOfFreedBuffersArrive) {
  auto random = test::fresh_random();
  const Bytes bytes = random_bytes(random, kBytes);
  Bytes sent = bytes;
  const BufferId on_device = buffer();
  ASSERT_TRUE(write(on_device, sent).ok());
  keep_busy(queue);
  Bytes received(kBytes, kPoison);
  ASSERT_TRUE(read(received, on_device).ok());
  ASSERT_TRUE(device->free(on_device).ok());
  Bytes others(kBytes, kPoison);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(write(buffer(), others).ok());  // may get that memory
  ASSERT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_EQ(received, bytes);
  EXPECT_EQ(read(received, on_device).code(), Code::invalid_argument);
}

TEST_F(MappedCopiesTest, MistakesAreReportedAsByMessages) {
  const BufferId on_device = buffer();
  Bytes large(kBytes + 1, kPoison);
  (void)write(on_device, large);
  EXPECT_EQ(device->synchronize(queue).status.code(), Code::invalid_argument);
  const BufferId none = buffer(std::size_t{1} << 40);
  Bytes small(8, kPoison);
  (void)write(none, small);
  EXPECT_EQ(device->synchronize(queue).status.code(), Code::out_of_memory);
}

TEST_F(MappedCopiesTest, ALostDaemonEndsReads) {
  Bytes bytes(kBytes, std::byte{3});
  const BufferId on_device = buffer();
  ASSERT_TRUE(write(on_device, bytes).ok());
  keep_busy(queue);
  Bytes received(kBytes, kPoison);
  ASSERT_TRUE(read(received, on_device).ok());
  daemon.stop();
  EXPECT_EQ(device->synchronize(queue).status.code(), Code::connection_lost);
  EXPECT_EQ(received, Bytes(kBytes, kPoison));
  EXPECT_EQ(write(on_device, bytes).code(), Code::connection_lost);
}

// A random program on several queues. Its own arrays say what the buffers hold; events order the
// queues wherever one uses a buffer that another one has used.
class Program {
 public:
  Program(SharedDevice& device, std::uint64_t seed) : device_(device), random_(seed) {
    for (QueueId& queue : queues_) queue = require(device.create_queue());
    for (EventId& event : events_) event = require(device.create_event());
    for (Contents& contents : buffers_) make(contents);
  }
  ~Program() {
    for (const QueueId queue : queues_) (void)device_.destroy_queue(queue);
  }

  /// @returns the number of mistakes
  int run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (std::size_t q = 0; q < queues_.size(); ++q) wait(q);
    return mistakes_;
  }

 private:
  struct Contents {
    BufferId id;
    Bytes bytes;
    std::size_t user = 0;  // the queue that has used it last
  };
  struct Read {
    Bytes received;
    Bytes expected;
  };

  void check(const Status& status) {
    if (!status.ok()) ++mistakes_;
  }
  // The first contents are undefined.
  void make(Contents& contents) {
    const auto bytes = uniform<std::size_t>(random_, 1, 3 * kBytes);
    contents.id = require(device_.allocate(bytes));
    contents.bytes.assign(bytes, std::byte{7});
    contents.user = any_queue();
    check(device_.fill(queues_[contents.user], contents.id, part(0, bytes),
                       std::array{std::byte{7}}));
  }
  std::size_t any_queue() { return uniform<std::size_t>(random_, 0, queues_.size() - 1); }
  Contents& any_buffer() { return buffers_[uniform<std::size_t>(random_, 0, buffers_.size() - 1)]; }

  void use(Contents& contents, std::size_t q) {
    if (contents.user != q) {
      check(device_.record(queues_[contents.user], events_[contents.user]));
      check(device_.wait(queues_[q], events_[contents.user]));
    }
    contents.user = q;
  }
  // A part of the buffer.
  Region place_in(const Contents& contents) {
    const auto offset = uniform<std::size_t>(random_, 0, contents.bytes.size() - 1);
    return part(offset, uniform<std::size_t>(random_, 1, contents.bytes.size() - offset));
  }

  void write(Contents& contents, std::size_t q) {
    use(contents, q);
    const Region region = place_in(contents);
    Bytes& source = sources_[q].emplace_back(random_bytes(random_, region.rows));
    check(device_.write(queues_[q], contents.id, region, all_of(source)));
    std::copy(source.begin(), source.end(),
              contents.bytes.begin() + static_cast<std::ptrdiff_t>(region.offset_bytes));
  }
  void read(Contents& contents, std::size_t q) {
    use(contents, q);
    const Region region = place_in(contents);
    const auto begin = contents.bytes.begin() + static_cast<std::ptrdiff_t>(region.offset_bytes);
    Read& read = reads_[q].emplace_back(
        Read{Bytes(region.rows, kPoison),
             Bytes(begin, begin + static_cast<std::ptrdiff_t>(region.rows))});
    check(device_.read(queues_[q], contents.id, region, all_of(read.received)));
  }
  void copy(Contents& from, Contents& to, std::size_t q) {
    if (&from == &to) return;
    use(from, q);
    use(to, q);
    const std::size_t bytes = std::min(from.bytes.size(), to.bytes.size());
    check(device_.copy(queues_[q], from.id, part(0, bytes), to.id, part(0, bytes)));
    std::copy_n(from.bytes.begin(), bytes, to.bytes.begin());
  }
  void replace(Contents& contents) {
    check(device_.free(contents.id));
    make(contents);
  }
  void wait(std::size_t q) {
    check(device_.synchronize(queues_[q]).status);
    for (const Read& read : reads_[q]) mistakes_ += read.received == read.expected ? 0 : 1;
    reads_[q].clear();
    sources_[q].clear();
  }

  void step() {
    const std::size_t q = any_queue();
    switch (uniform(random_, 0, 9)) {
      case 0:
      case 1:
      case 2: return write(any_buffer(), q);
      case 3:
      case 4:
      case 5: return read(any_buffer(), q);
      case 6: return copy(any_buffer(), any_buffer(), q);
      case 7: return uniform(random_, 0, 9) == 0 ? replace(any_buffer()) : wait(q);
      case 8: return check(device_.flush(queues_[q]));
      default: (void)device_.await(queues_[q], false, std::chrono::steady_clock::now());
    }
  }

  SharedDevice& device_;
  std::mt19937_64 random_;
  std::array<QueueId, 3> queues_;
  std::array<EventId, 3> events_;
  std::array<Contents, 4> buffers_;
  // By queue. Their places must not move.
  std::array<std::deque<Bytes>, 3> sources_;
  std::array<std::deque<Read>, 3> reads_;
  int mistakes_ = 0;
};

TEST(MappedCopiesRaceTest, QueuesOfSeveralThreadsKeepTheirOrder) {
  // More queues than connections.
  constexpr std::size_t kThreads = 4;
  const InProcessDaemon daemon(test::Transport::shm);
  const auto device = require(SharedDevice::open(daemon.address(), {}, 1));
  const std::uint64_t seed = test::test_seed();
  std::array<int, kThreads> mistakes{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { mistakes[i] = Program(*device, seed + i).run(1500); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mistakes, (std::array<int, kThreads>{}));
}

}  // namespace
}  // namespace ob::client
