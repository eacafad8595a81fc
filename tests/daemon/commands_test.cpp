// Commands of a client that the test writes message by message: correct, wrong and hostile ones.

#include <sys/mman.h>

#include <vector>

#include "routines/codec.hpp"
#include "support/dgemm.hpp"
#include "support/random.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{5};
constexpr BufferId kBuffer{9};

class CommandsTest : public testing::TestWithParam<Transport> {
 protected:
  void SetUp() override { start(client); }

  void start(RawClient& with) {
    with.shake_hands();
    with.command(Opcode::create_queue, kQueue);
  }
  void allocate(BufferId id, std::uint64_t bytes) {
    client.command(Opcode::allocate, {}, wire::Allocate{id, bytes});
  }
  std::uint64_t write(BufferId id, const Region& region, const Bytes& payload) {
    return client.command(Opcode::write, kQueue, wire::Write{id, region}, payload);
  }
  Received read(BufferId id, const Region& region) {
    const std::uint64_t asked = client.command(Opcode::read, kQueue, wire::Read{id, region});
    Received data = client.answer();
    EXPECT_EQ(data.opcode(), Opcode::data);
    EXPECT_EQ(data.header.sequence, asked);
    return data;
  }
  void call(std::int64_t n, BufferId a, BufferId b, BufferId c) {
    Argument arguments[kMaxArguments];
    square_dgemm_on_device(n, a, b, c, arguments);
    wire::Body body;
    encode_call(dgemm(), arguments, body);
    client.command(Opcode::call, kQueue, body.bytes());
  }
  void expect_cut_off(Code code = Code::protocol_error) {
    Received last = client.answer();
    ASSERT_TRUE(last.end.ok()) << last.end.message();
    ASSERT_EQ(last.opcode(), Opcode::failed);
    EXPECT_EQ(last.as<wire::Outcome>().code, code);
    EXPECT_FALSE(last.as<wire::Outcome>().message.empty());
    EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
    RawClient next(daemon.address());  // the other client is not affected
    start(next);
    EXPECT_EQ(next.synchronize(kQueue).code, Code::ok);
  }

  InProcessDaemon daemon{GetParam()};
  RawClient client{daemon.address()};
};

TEST_P(CommandsTest, ReadReturnsTheWrittenBytes) {
  auto random = fresh_random();
  allocate(kBuffer, 100000);
  for (int i = 0; i < 30; ++i) {
    Bytes sent(uniform<std::size_t>(random, 1, 60000));
    for (std::byte& b : sent) b = static_cast<std::byte>(random());
    const Region region = line(sent.size(), uniform<std::size_t>(random, 0, 40000));
    write(kBuffer, region, sent);
    const Received data = read(kBuffer, region);
    ASSERT_EQ(data.as<wire::Outcome>().code, Code::ok);
    ASSERT_TRUE(data.payload == sent);
  }
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

TEST_P(CommandsTest, AnUnknownQueueEndsTheConnection) {
  client.command(Opcode::synchronize, QueueId{1234});
  expect_cut_off();
}

TEST_P(CommandsTest, TheAccuracyOfAnotherQueueEndsTheConnection) {
  client.command(Opcode::set_accuracy, kQueue, wire::SetAccuracy{Accuracy::fast});
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
  client.command(Opcode::set_accuracy, QueueId{1234}, wire::SetAccuracy{Accuracy::strict});
  expect_cut_off();
}

TEST_P(CommandsTest, AQueueTwiceEndsTheConnection) {
  client.command(Opcode::create_queue, kQueue);
  expect_cut_off();
}

TEST_P(CommandsTest, ABufferTwiceEndsTheConnection) {
  allocate(kBuffer, 10);
  allocate(kBuffer, 10);
  expect_cut_off();
}

TEST_P(CommandsTest, APayloadOfTheWrongLengthEndsTheConnection) {
  allocate(kBuffer, 100);
  write(kBuffer, line(50), Bytes(49));
  expect_cut_off();
}

TEST_P(CommandsTest, ATruncatedBodyEndsTheConnection) {
  client.command(Opcode::allocate, {}, std::span<const std::byte>(Bytes(8)));
  expect_cut_off();
}

TEST_P(CommandsTest, ADaemonsMessageEndsTheConnection) {
  client.command(Opcode::done, kQueue, wire::Outcome{});
  expect_cut_off();
}

TEST_P(CommandsTest, TooManyQueuesEndTheConnection) {
  for (std::uint64_t id = 1000; id < 1300; ++id) client.command(Opcode::create_queue, QueueId{id});
  expect_cut_off(Code::denied);
}

TEST_P(CommandsTest, CreditsBeyondTheWindowEndTheConnection) {
  // A call keeps the queue busy, so that nothing completes.
  InProcessDaemon slow(GetParam(), one(null_device(1 << 28, 0.02)));
  client.disconnect();
  client = RawClient(slow.address());
  start(client);
  for (std::uint64_t i = 1; i <= 3; ++i) allocate(BufferId{i}, 8 * 160 * 160);
  call(160, BufferId{1}, BufferId{2}, BufferId{3});  // 0.4 s
  for (std::uint32_t i = 0; i < wire::kInitialCredits; ++i) {
    client.command(Opcode::record, kQueue, wire::Record{EventId{1}});
  }
  const Received last = client.answer();
  ASSERT_EQ(last.opcode(), Opcode::failed);
  EXPECT_NE(last.as<wire::Outcome>().message.find("256"), std::string::npos);
}

TEST_P(CommandsTest, CreditsComeBackAsCommandsComplete) {
  std::uint32_t used = 0;
  std::uint64_t back = 0;
  for (int i = 0; i < 5000; ++i) {
    while (used == wire::kInitialCredits) {
      const Received credit = client.receive();
      ASSERT_TRUE(credit.end.ok());
      ASSERT_EQ(credit.opcode(), Opcode::credit);
      ASSERT_EQ(credit.header.queue, kQueue);
      used -= credit.as<wire::Credit>().credits;
      back += credit.as<wire::Credit>().credits;
    }
    client.command(Opcode::record, kQueue,
                   wire::Record{EventId{1 + static_cast<std::uint64_t>(i) % 7}});
    ++used;
  }
  client.command(Opcode::synchronize, kQueue);
  for (;;) {
    const Received message = client.receive();
    ASSERT_TRUE(message.end.ok());
    if (message.opcode() == Opcode::credit) back += message.as<wire::Credit>().credits;
    if (message.opcode() != Opcode::done) continue;
    back += message.as<wire::Outcome>().credits;
    break;
  }
  EXPECT_EQ(back, 5001u);
}

TEST_P(CommandsTest, RegionsOutOfBoundsFailTheQueueAndLeaveTheBuffer) {
  allocate(kBuffer, 64);
  write(kBuffer, line(64), Bytes(64, std::byte{0x5A}));
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;
  const Region bad[] = {line(65),
                        line(1, 64),
                        line(8, UINT64_MAX - 4),
                        {.element_bytes = 8, .rows = 1, .cols = 2, .ld = kHuge},
                        {.element_bytes = 8, .rows = 3, .cols = 2, .ld = 2}};
  for (const Region& region : bad) {
    const std::uint64_t failing = write(kBuffer, region, Bytes(packed_bytes(region), std::byte{1}));
    const Received data = read(kBuffer, line(64));
    EXPECT_EQ(data.as<wire::Outcome>().code, Code::invalid_argument);
    EXPECT_EQ(data.as<wire::Outcome>().failed_sequence, failing);
    EXPECT_TRUE(data.payload.empty());
    EXPECT_EQ(client.synchronize(kQueue).failed_sequence, failing);
    const std::uint64_t reading = client.command(Opcode::read, kQueue, wire::Read{kBuffer, region});
    EXPECT_EQ(client.answer().as<wire::Outcome>().failed_sequence, reading);
    EXPECT_EQ(client.synchronize(kQueue).code, Code::invalid_argument);
    EXPECT_EQ(read(kBuffer, line(64)).payload, Bytes(64, std::byte{0x5A}));
  }
}

TEST_P(CommandsTest, TheFirstFailureSticksUntilSynchronize) {
  allocate(kBuffer, 8 * 16);
  write(kBuffer, line(8), Bytes(8, std::byte{1}));
  // The device detects this error: C reaches beyond its buffer.
  Argument arguments[kMaxArguments];
  square_dgemm_in_buffer(5, kBuffer, arguments);
  wire::Body body;
  encode_call(dgemm(), arguments, body);
  const std::uint64_t failing = client.command(Opcode::call, kQueue, body.bytes());
  // The session detects this error at once.
  client.command(Opcode::copy, kQueue, wire::Copy{BufferId{777}, kBuffer, line(1), line(1)});
  const Received data = read(kBuffer, line(8));
  EXPECT_EQ(data.as<wire::Outcome>().failed_sequence, failing);
  for (int i = 0; i < 1000; ++i) {  // the daemon still knows the sequence
    client.command(Opcode::record, kQueue, wire::Record{EventId{1}});
    if (i % 100 == 99) {
      EXPECT_EQ(read(kBuffer, line(8)).as<wire::Outcome>().failed_sequence, failing);
    }
  }
  wire::Outcome outcome = client.synchronize(kQueue);
  EXPECT_EQ(outcome.code, Code::invalid_argument);
  EXPECT_EQ(outcome.failed_sequence, failing);
  outcome = client.synchronize(kQueue);
  EXPECT_EQ(outcome.code, Code::ok);
  EXPECT_EQ(outcome.failed_sequence, 0u);
  EXPECT_EQ(read(kBuffer, line(8)).as<wire::Outcome>().code, Code::ok);
}

TEST_P(CommandsTest, AHugeAllocationBreaksOnlyItsBuffer) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 29, std::uint64_t{1} << 47, UINT64_MAX}) {
    allocate(kBuffer, bytes);
    EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);  // no command has used it
    const std::uint64_t failing = write(kBuffer, line(10), Bytes(10));
    const wire::Outcome outcome = client.synchronize(kQueue);
    EXPECT_EQ(outcome.code, Code::out_of_memory);
    EXPECT_EQ(outcome.failed_sequence, failing);
    client.command(Opcode::locate, {}, wire::Locate{kBuffer});
    EXPECT_EQ(client.answer().as<wire::Location>().code, Code::out_of_memory);
    client.command(Opcode::free, {}, wire::Free{kBuffer});
  }
  allocate(kBuffer, 100);
  write(kBuffer, line(10), Bytes(10));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

TEST_P(CommandsTest, CommandsThatUseAFailedPlanGetItsFailure) {
  InProcessDaemon small(GetParam(),
                        one(require(cpu::create({.memory_bytes = 1 << 20, .threads = 1}))));
  client.disconnect();
  client = RawClient(small.address());
  start(client);
  FftPlan plan;
  plan.rank = 1;
  plan.n[0] = 1 << 20;
  wire::Body body;
  encode_plan(PlanId{3}, plan, body);
  client.command(Opcode::make_plan, {}, body.bytes());
  allocate(kBuffer, 1024);
  client.command(Opcode::execute_plan, kQueue, wire::ExecutePlan{PlanId{3}, kBuffer, kBuffer});
  const Code code = client.synchronize(kQueue).code;
  EXPECT_TRUE(code == Code::out_of_memory || code == Code::unavailable) << to_string(code);
}

// docs/wire.md, section 7: a failed allocation fails no queue. Its buffer fails the commands that
// use it, and each of those fails its own queue.
TEST_P(CommandsTest, AFailedAllocationFailsTheQueueOfEachCommandThatUsesIt) {
  constexpr BufferId kFailed{10};
  constexpr QueueId kOther{6};
  client.command(Opcode::create_queue, kOther);
  allocate(kBuffer, 10);
  write(kBuffer, line(10), Bytes(10, std::byte{1}));
  allocate(kFailed, std::uint64_t{1} << 47);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);

  const std::uint64_t failing = write(kFailed, line(10), Bytes(10));
  write(kBuffer, line(10), Bytes(10, std::byte{2}));  // it is skipped
  EXPECT_EQ(read(kBuffer, line(10)).as<wire::Outcome>().code, Code::out_of_memory);
  EXPECT_EQ(client.synchronize(kOther).code, Code::ok);
  const wire::Outcome outcome = client.synchronize(kQueue);
  EXPECT_EQ(outcome.code, Code::out_of_memory);
  EXPECT_EQ(outcome.failed_sequence, failing);
  const Received kept = read(kBuffer, line(10));
  EXPECT_EQ(kept.as<wire::Outcome>().code, Code::ok);
  EXPECT_EQ(kept.payload, Bytes(10, std::byte{1}));

  EXPECT_EQ(read(kFailed, line(10)).as<wire::Outcome>().code, Code::out_of_memory);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::out_of_memory);  // of the read
  call(1, kBuffer, kFailed, kBuffer);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::out_of_memory);
  client.command(Opcode::copy, kQueue, wire::Copy{kFailed, kBuffer, line(1), line(1)});
  EXPECT_EQ(client.synchronize(kQueue).code, Code::out_of_memory);

  client.command(Opcode::free, {}, wire::Free{kFailed});
  allocate(kFailed, 10);
  write(kFailed, line(10), Bytes(10));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

TEST_P(CommandsTest, TheIdOfAFailedAllocationStaysTaken) {
  allocate(kBuffer, std::uint64_t{1} << 47);
  allocate(kBuffer, 10);
  expect_cut_off();
}

class FailedPlanTest : public CommandsTest {
 protected:
  // A plan of this many points needs more memory than the device has, unless it is small.
  void make_plan(std::uint64_t points) {
    FftPlan plan;
    plan.rank = 1;
    plan.n[0] = points;
    wire::Body body;
    encode_plan(kPlan, plan, body);
    client.command(Opcode::make_plan, {}, body.bytes());
  }
  std::uint64_t execute() {
    return client.command(Opcode::execute_plan, kQueue, wire::ExecutePlan{kPlan, kBuffer, kBuffer});
  }
  void SetUp() override {
    client.disconnect();
    client = RawClient(small.address());
    start(client);
    allocate(kBuffer, 1024);
  }

  static constexpr PlanId kPlan{3};
  InProcessDaemon small{GetParam(),
                        one(require(cpu::create({.memory_bytes = 1 << 20, .threads = 1})))};
};

TEST_P(FailedPlanTest, FailsTheQueueOfEachCommandThatUsesIt) {
  write(kBuffer, line(16), Bytes(16, std::byte{1}));
  make_plan(std::uint64_t{1} << 40);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
  const std::uint64_t failing = execute();
  write(kBuffer, line(16), Bytes(16, std::byte{2}));  // it is skipped
  const wire::Outcome outcome = client.synchronize(kQueue);
  if (outcome.code == Code::unavailable) GTEST_SKIP() << outcome.message;  // no FFT library
  EXPECT_EQ(outcome.code, Code::out_of_memory) << outcome.message;
  EXPECT_EQ(outcome.failed_sequence, failing);
  EXPECT_EQ(read(kBuffer, line(16)).payload, Bytes(16, std::byte{1}));

  client.command(Opcode::destroy_plan, {}, wire::DestroyPlan{kPlan});
  make_plan(16);
  execute();
  const wire::Outcome after = client.synchronize(kQueue);
  EXPECT_EQ(after.code, Code::ok) << after.message;
}

TEST_P(FailedPlanTest, KeepsItsId) {
  make_plan(std::uint64_t{1} << 40);
  make_plan(16);
  expect_cut_off();
}

INSTANTIATE_TEST_SUITE_P(over, FailedPlanTest, testing::Values(Transport::tcp, Transport::shm),
                         name);

TEST_P(CommandsTest, UnknownObjectsFailTheirCommand) {
  allocate(kBuffer, 64);
  client.command(Opcode::free, {}, wire::Free{BufferId{4242}});  // an unknown buffer
  client.command(Opcode::destroy_plan, {}, wire::DestroyPlan{PlanId{3}});
  client.command(Opcode::destroy_queue, QueueId{888});
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
  client.command(Opcode::copy, kQueue, wire::Copy{kBuffer, BufferId{7}, line(1), line(1)});
  EXPECT_EQ(client.synchronize(kQueue).code, Code::invalid_argument);
  client.command(Opcode::execute_plan, kQueue, wire::ExecutePlan{PlanId{3}, kBuffer, kBuffer});
  EXPECT_EQ(client.synchronize(kQueue).code, Code::invalid_argument);
  call(2, kBuffer, BufferId{}, kBuffer);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::invalid_argument);
  Bytes unknown_routine(8);
  client.command(Opcode::call, kQueue, std::span<const std::byte>(unknown_routine));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::unsupported);
}

TEST_P(CommandsTest, PingIsAnsweredWhileACallRuns) {
  InProcessDaemon slow(GetParam(), one(null_device(1 << 28, 0.02)));
  client.disconnect();
  client = RawClient(slow.address());
  start(client);
  for (std::uint64_t i = 1; i <= 3; ++i) allocate(BufferId{i}, 8 * 160 * 160);
  call(160, BufferId{1}, BufferId{2}, BufferId{3});
  const std::uint64_t asked = client.command(Opcode::synchronize, kQueue);
  client.command(Opcode::ping);
  EXPECT_EQ(client.answer().opcode(), Opcode::pong);
  const Received done = client.answer();
  EXPECT_EQ(done.opcode(), Opcode::done);
  EXPECT_EQ(done.header.sequence, asked);
  EXPECT_GT(done.as<wire::Outcome>().compute_ns, 0u);
}

TEST_P(CommandsTest, AHeldBackPayloadComesWithKeepAlives) {
  InProcessDaemon slow(GetParam(), one(null_device(1 << 28, 0.008)));
  client.disconnect();
  client = RawClient(slow.address());
  start(client);
  for (std::uint64_t i = 1; i <= 3; ++i) allocate(BufferId{i}, 8 * 160 * 160);
  call(160, BufferId{1}, BufferId{2}, BufferId{3});  // 1 s
  write(BufferId{1}, line(100), Bytes(100, std::byte{3}));
  const Received sign = client.receive_any();
  EXPECT_EQ(sign.opcode(), Opcode::pong);
  EXPECT_EQ(sign.header.sequence, 0u);
  client.command(Opcode::read, kQueue, wire::Read{BufferId{1}, line(100)});
  EXPECT_EQ(client.answer().payload, Bytes(100, std::byte{3}));
}

TEST_P(CommandsTest, LocateWorksWhereMemoryIsShared) {
  allocate(kBuffer, 5000);
  client.command(Opcode::locate, {}, wire::Locate{kBuffer});
  const auto location = client.answer().as<wire::Location>();
  if (GetParam() == Transport::tcp) {
    EXPECT_EQ(location.code, Code::unsupported);
    return;
  }
  ASSERT_EQ(location.code, Code::ok);
  EXPECT_GE(location.segment_bytes - location.offset_bytes, 5000u);
  const auto segment = require(client.stream().receive_segment(RawClient::deadline()));
  EXPECT_GE(segment.fd, 0);
  ::close(segment.fd);
  client.command(Opcode::locate, {}, wire::Locate{BufferId{4}});
  EXPECT_EQ(client.answer().as<wire::Location>().code, Code::invalid_argument);
}

// Clients that map every buffer see each one at its offset in the memory file.
TEST_P(CommandsTest, SmallBuffersLieApartInTheirSharedSegment) {
  if (GetParam() == Transport::tcp) GTEST_SKIP() << "no memory is shared";
  const auto locate = [&](BufferId id) {
    client.command(Opcode::locate, {}, wire::Locate{id});
    return client.answer().as<wire::Location>();
  };
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    allocate(BufferId{i}, 64);
    client.command(Opcode::write, kQueue, wire::Write{BufferId{i}, line(64)},
                   Bytes(64, static_cast<std::byte>(i)));
    ASSERT_EQ(client.synchronize(kQueue).code, Code::ok);
    const wire::Location location = locate(BufferId{i});
    ASSERT_EQ(location.code, Code::ok);
    const auto segment = require(client.stream().receive_segment(RawClient::deadline()));
    void* const mapped =
        ::mmap(nullptr, location.segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment.fd, 0);
    ::close(segment.fd);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const buffer = static_cast<std::byte*>(mapped) + location.offset_bytes;
    EXPECT_EQ(Bytes(buffer, buffer + 64), Bytes(64, static_cast<std::byte>(i)));
    buffer[7] = static_cast<std::byte>(0x70 + i);  // the daemon sees what a client writes there
    ::munmap(mapped, location.segment_bytes);
    offsets.push_back(location.offset_bytes);
  }
  EXPECT_NE(offsets[0], offsets[1]);
  EXPECT_NE(offsets[1], offsets[2]);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    Bytes expected(64, static_cast<std::byte>(i));
    expected[7] = static_cast<std::byte>(0x70 + i);
    client.command(Opcode::read, kQueue, wire::Read{BufferId{i}, line(64)});
    EXPECT_EQ(client.answer().payload, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(over, CommandsTest, testing::Values(Transport::tcp, Transport::shm), name);

}  // namespace
}  // namespace ob::test
