// Lifetimes of objects: buffers that are freed while they are read, that connections share, or that
// vanished clients leave behind; and the stop of the daemon.

#include <thread>

#include "routines/codec.hpp"
#include "support/dgemm.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr std::uint64_t kMemoryBytes = 64 << 20;

class LifetimeTest : public testing::TestWithParam<Transport> {
 protected:
  wire::Welcome start(RawClient& client, const wire::Hello& hello = {}, QueueId queue = kQueue) {
    const wire::Welcome welcome = client.shake_hands(hello);
    client.command(Opcode::create_queue, queue);
    return welcome;
  }

  // Returns true if all memory of the device is free: no other client has left any.
  bool all_memory_is_free() {
    // A session ends when its last call does.
    for (const auto until = RawClient::deadline(); transport::Clock::now() < until;) {
      RawClient client(daemon->address());
      start(client);
      client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, kMemoryBytes});
      client.command(Opcode::write, kQueue, wire::Write{BufferId{1}, line(1)}, Bytes(1));
      if (client.synchronize(kQueue).code == Code::ok) return true;
    }
    return false;
  }

  void call(RawClient& client, std::int64_t n) {
    for (std::uint64_t i = 101; i <= 103; ++i) {
      client.command(Opcode::allocate, {},
                     wire::Allocate{BufferId{i}, static_cast<std::uint64_t>(8 * n * n)});
    }
    Argument arguments[kMaxArguments];
    square_dgemm_on_device(n, BufferId{101}, BufferId{102}, BufferId{103}, arguments);
    wire::Body body;
    encode_call(dgemm(), arguments, body);
    client.command(Opcode::call, kQueue, body.bytes());
  }

  std::unique_ptr<InProcessDaemon> daemon =
      std::make_unique<InProcessDaemon>(GetParam(), one(null_device(kMemoryBytes, 0.02)));
};

TEST_P(LifetimeTest, ABufferFreedWhileItIsReadIsReadWhole) {
  RawClient client(daemon->address());
  start(client);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    const BufferId buffer{round};
    const Bytes sent(40 << 20, static_cast<std::byte>(round));
    client.command(Opcode::allocate, {}, wire::Allocate{buffer, sent.size()});
    client.command(Opcode::write, kQueue, wire::Write{buffer, line(sent.size())}, sent);
    call(client, 100);  // 0.1 s: the read is still pending at the free
    client.command(Opcode::read, kQueue, wire::Read{buffer, line(sent.size())});
    client.command(Opcode::free, {}, wire::Free{buffer});
    for (std::uint64_t i = 101; i <= 103; ++i)
      client.command(Opcode::free, {}, wire::Free{BufferId{i}});
    const Received data = client.answer();
    ASSERT_EQ(data.opcode(), Opcode::data);
    ASSERT_TRUE(data.payload == sent);
  }
  client.command(Opcode::goodbye);
  EXPECT_TRUE(all_memory_is_free());
}

TEST_P(LifetimeTest, MemoryFreedWhileInUseIsWaitedFor) {
  RawClient client(daemon->address());
  start(client);
  const Bytes sent(40 << 20, std::byte{8});
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, sent.size()});
  client.command(Opcode::write, kQueue, wire::Write{BufferId{1}, line(sent.size())}, sent);
  call(client, 100);
  client.command(Opcode::read, kQueue, wire::Read{BufferId{1}, line(sent.size())});
  client.command(Opcode::free, {}, wire::Free{BufferId{1}});
  // The second buffer fits only after the first is freed.
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{2}, sent.size()});
  ASSERT_TRUE(client.answer().payload == sent);
  client.command(Opcode::write, kQueue, wire::Write{BufferId{2}, line(1)}, Bytes(1));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

TEST_P(LifetimeTest, ConnectionsOfOneSessionShareBuffers) {
  RawClient first(daemon->address());
  wire::Hello hello;
  hello.join = start(first).token;
  RawClient second(daemon->address());
  start(second, hello, QueueId{2});
  first.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 100});
  first.command(Opcode::write, kQueue, wire::Write{BufferId{1}, line(100)},
                Bytes(100, std::byte{6}));
  EXPECT_EQ(first.synchronize(kQueue).code, Code::ok);
  second.command(Opcode::read, QueueId{2}, wire::Read{BufferId{1}, line(100)});
  EXPECT_EQ(second.answer().payload, Bytes(100, std::byte{6}));
  second.command(Opcode::synchronize, kQueue);  // a queue belongs to one connection
  EXPECT_EQ(second.answer().opcode(), Opcode::failed);
  EXPECT_EQ(first.synchronize(kQueue).code, Code::ok);
}

TEST_P(LifetimeTest, ConnectionsMayFreeEachOthersBuffersAtAnyMoment) {
  RawClient first(daemon->address());
  wire::Hello hello;
  hello.join = start(first).token;
  RawClient second(daemon->address());
  start(second, hello, QueueId{2});
  std::thread freeing([&] {
    for (std::uint64_t id = 1; id <= 300; ++id) {
      second.command(Opcode::read, QueueId{2}, wire::Read{BufferId{id}, line(50000)});
      second.command(Opcode::free, {}, wire::Free{BufferId{id}});
      (void)second.answer();
      (void)second.synchronize(QueueId{2});
    }
  });
  for (std::uint64_t id = 1; id <= 300; ++id) {
    first.command(Opcode::allocate, {}, wire::Allocate{BufferId{id}, 50000});
    first.command(Opcode::write, kQueue, wire::Write{BufferId{id}, line(50000)}, Bytes(50000));
    first.command(Opcode::read, kQueue, wire::Read{BufferId{id}, line(50000)});
    (void)first.answer();
    const Code code = first.synchronize(kQueue).code;
    ASSERT_TRUE(code == Code::ok || code == Code::invalid_argument) << to_string(code);
  }
  freeing.join();
}

TEST_P(LifetimeTest, AClientThatVanishesInMidPayloadLeavesNothing) {
  {
    RawClient client(daemon->address());
    start(client);
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, kMemoryBytes / 2});
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{2}, kMemoryBytes / 4});
    wire::Body body;
    wire::encode(wire::Write{BufferId{1}, line(kMemoryBytes / 2)}, body);
    client.send({.opcode = Opcode::write,
                 .queue = kQueue,
                 .sequence = 9,
                 .payload_bytes = kMemoryBytes / 2},
                body.bytes(), Bytes(1000));
    client.disconnect();
  }
  EXPECT_TRUE(all_memory_is_free());
}

TEST_P(LifetimeTest, AClientThatVanishesDuringACallLeavesNothing) {
  {
    RawClient client(daemon->address());
    start(client);
    call(client, 150);
    client.command(Opcode::read, kQueue, wire::Read{BufferId{103}, line(1000)});
    client.disconnect();
  }
  EXPECT_TRUE(all_memory_is_free());
}

TEST_P(LifetimeTest, AClientThatTakesNoDataHoldsNobodyElse) {
  RawClient lazy(daemon->address());
  start(lazy);
  lazy.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, kMemoryBytes / 2});
  for (int i = 0; i < 4; ++i)
    lazy.command(Opcode::read, kQueue, wire::Read{BufferId{1}, line(kMemoryBytes / 2)});
  RawClient busy(daemon->address());
  start(busy);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(busy.synchronize(kQueue).code, Code::ok);
  lazy.disconnect();
  busy.command(Opcode::goodbye);
  EXPECT_TRUE(all_memory_is_free());
}

TEST_P(LifetimeTest, DrainFinishesRunningCommandsAndRefusesClients) {
  RawClient client(daemon->address());
  start(client);
  RawClient idle(daemon->address());
  start(idle);
  EXPECT_EQ(idle.synchronize(kQueue).code, Code::ok);
  call(client, 160);  // 0.4 s
  client.command(Opcode::read, kQueue, wire::Read{BufferId{103}, line(1000)});
  client.command(Opcode::synchronize, kQueue);
  client.command(Opcode::ping);
  ASSERT_EQ(client.answer().opcode(), Opcode::pong);  // all messages have arrived
  std::thread draining([&] { daemon->server().drain(60); });
  EXPECT_EQ(idle.receive().end.code(), Code::connection_lost);
  EXPECT_FALSE(transport::connect(daemon->address(), RawClient::deadline()).ok());
  const Received data = client.answer();
  ASSERT_TRUE(data.end.ok()) << data.end.message();
  EXPECT_EQ(data.payload.size(), 1000u);
  EXPECT_EQ(client.answer().opcode(), Opcode::done);
  EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
  draining.join();
}

TEST_P(LifetimeTest, DrainAbortsCommandsThatDoNotEnd) {
  RawClient client(daemon->address());
  start(client);
  call(client, 390);  // 6 s
  client.command(Opcode::ping);
  ASSERT_EQ(client.answer().opcode(), Opcode::pong);
  const auto before = transport::Clock::now();
  EXPECT_EQ(daemon->server().drain(0.1), daemon::Drained::aborted);
  const auto took = transport::Clock::now() - before;
  EXPECT_GE(took, daemon::Server::kEnding);
  EXPECT_LT(took, std::chrono::seconds(5)) << "it has waited for the command";
  EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
}

TEST_P(LifetimeTest, DrainDoesNotWaitForClientsThatHaveLeft) {
  RawClient client(daemon->address());
  start(client);
  call(client, 270);
  client.command(Opcode::ping);
  ASSERT_EQ(client.answer().opcode(), Opcode::pong);
  client.disconnect();
  const auto before = transport::Clock::now();
  // Clean if the call had not begun: then it is skipped.
  EXPECT_NE(daemon->server().drain(60), daemon::Drained::aborted);
  EXPECT_LT(transport::Clock::now() - before, std::chrono::seconds(30));
}

INSTANTIATE_TEST_SUITE_P(over, LifetimeTest, testing::Values(Transport::tcp, Transport::shm), name);

}  // namespace
}  // namespace ob::test
