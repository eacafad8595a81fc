// A daemon that waits for submitted commands sends its client signs of life.

#include <future>

#include "daemon/io/life_signs.hpp"
#include "routines/codec.hpp"
#include "support/call_device.hpp"
#include "support/dgemm.hpp"
#include "support/in_process_daemon.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr std::uint64_t kMemoryBytes = 1 << 20;
constexpr std::uint64_t kMost = 700'000;  // two of them do not fit

// A device whose calls end when the test opens the gate.
class GatedDevice final : public CallDevice {
 public:
  GatedDevice(const std::shared_future<void>& gate, std::uint64_t memory_bytes)
      : CallDevice("gated", memory_bytes, [gate](const HostQueue&) { gate.wait(); }), gate_(gate) {}

  // Blocks the thread of the connection, as a library or swapped memory does.
  Status set_accuracy(QueueId, Accuracy) override {
    gate_.wait();
    return {};
  }

 private:
  const std::shared_future<void> gate_;
};

class KeepAliveTest : public testing::Test {
 protected:
  explicit KeepAliveTest(std::uint64_t session_bytes = UINT64_MAX,
                         std::uint64_t device_bytes = kMemoryBytes)
      : daemon_(Transport::tcp,
                one(std::make_unique<GatedDevice>(gate_.get_future().share(), device_bytes)),
                config(session_bytes)) {}
  void SetUp() override {
    client.shake_hands();
    client.command(Opcode::create_queue, kQueue);
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, kMost});
    call(BufferId{1});
  }
  // Submits a call that uses the buffer and ends when the gate opens.
  void call(BufferId buffer) {
    Argument arguments[kMaxArguments];
    square_dgemm_in_buffer(1, buffer, arguments);
    wire::Body body;
    encode_call(dgemm(), arguments, body);
    client.command(Opcode::call, kQueue, body.bytes());
  }
  void TearDown() override { open_gate(); }
  void open_gate() {
    if (!std::exchange(open_, true)) gate_.set_value();
  }
  void expect_sign_of_life() {
    for (;;) {
      const Received message = client.receive_any();
      ASSERT_TRUE(message.end.ok()) << message.end.message();
      if (message.opcode() == Opcode::pong && message.header.sequence == 0) return;
    }
  }

  const std::string& address() const { return daemon_.address(); }

 private:
  static daemon::ServerConfig config(std::uint64_t session_bytes) {
    daemon::ServerConfig config;
    config.session.memory_bytes = session_bytes;
    return config;
  }

  std::promise<void> gate_;
  bool open_ = false;
  InProcessDaemon daemon_;

 protected:
  RawClient client{daemon_.address()};
};

// A session with a limit far below the device's memory.
class LimitedKeepAliveTest : public KeepAliveTest {
 protected:
  LimitedKeepAliveTest() : KeepAliveTest(kMemoryBytes, 16 * kMemoryBytes) {}
};

// The device still uses the freed memory; the daemon holds no answer that uses it.
TEST_F(KeepAliveTest, WhileAnAllocationWaitsForFreedMemory) {
  client.command(Opcode::copy, kQueue, wire::Copy{BufferId{1}, BufferId{1}, line(8), line(8, 64)});
  client.command(Opcode::free, {}, wire::Free{BufferId{1}});
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{2}, kMost});
  expect_sign_of_life();
  open_gate();
  client.command(Opcode::write, kQueue, wire::Write{BufferId{2}, line(8)}, Bytes(8));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

// Otherwise a session could hold far more than its limit.
TEST_F(LimitedKeepAliveTest, WhileFreedMemoryCountsForTheSession) {
  client.command(Opcode::free, {}, wire::Free{BufferId{1}});
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{2}, kMost});
  expect_sign_of_life();
  open_gate();
  client.command(Opcode::write, kQueue, wire::Write{BufferId{2}, line(8)}, Bytes(8));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
  // Now nothing uses the freed buffer, and it does not count any more.
  client.command(Opcode::free, {}, wire::Free{BufferId{2}});
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{3}, kMost});
  client.command(Opcode::write, kQueue, wire::Write{BufferId{3}, line(8)}, Bytes(8));
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

// The command of the other session does not end.
TEST_F(KeepAliveTest, WhileAnAllocationWaitsForOthersButNotForEver) {
  client.command(Opcode::copy, kQueue, wire::Copy{BufferId{1}, BufferId{1}, line(8), line(8, 64)});
  client.command(Opcode::free, {}, wire::Free{BufferId{1}});
  client.command(Opcode::ping);  // its answer shows that the memory is freed
  ASSERT_EQ(client.answer().opcode(), Opcode::pong);
  RawClient other(address());
  other.shake_hands();
  other.command(Opcode::create_queue, kQueue);
  other.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, kMost});
  other.command(Opcode::write, kQueue, wire::Write{BufferId{1}, line(8)}, Bytes(8));
  const wire::Outcome refused = other.synchronize(kQueue);
  EXPECT_EQ(refused.code, Code::out_of_memory);
  EXPECT_NE(refused.message.find("commands of others"), std::string::npos) << refused.message;
}

TEST_F(KeepAliveTest, WhileADestroyedQueueFinishesItsCommands) {
  client.command(Opcode::destroy_queue, kQueue);
  expect_sign_of_life();
  open_gate();
  constexpr QueueId kNext{2};
  client.command(Opcode::create_queue, kNext);
  EXPECT_EQ(client.synchronize(kNext).code, Code::ok);
}

// The connection's own thread cannot send anything meanwhile.
TEST_F(KeepAliveTest, WhileTheThreadOfTheConnectionIsBlocked) {
  client.command(Opcode::set_accuracy, kQueue, wire::SetAccuracy{Accuracy::strict});
  for (int i = 0; i < 3; ++i) expect_sign_of_life();
  open_gate();
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
}

TEST_F(KeepAliveTest, WhileACommandRuns) {
  client.command(Opcode::synchronize, kQueue);
  for (int i = 0; i < 3; ++i) expect_sign_of_life();
  open_gate();
  EXPECT_EQ(client.answer().opcode(), Opcode::done);
}

TEST_F(KeepAliveTest, ThePongOfAPingTellsThePromise) {
  client.command(Opcode::ping);
  const Received pong = client.answer();
  ASSERT_EQ(pong.opcode(), Opcode::pong);
  EXPECT_EQ(pong.header.queue.value, 2 * daemon::LifeSigns::kInterval.count());
}

TEST_F(KeepAliveTest, ButNotForAnIdleClient) {
  open_gate();
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
  const auto until = transport::Clock::now() + 5 * daemon::LifeSigns::kInterval;
  EXPECT_EQ(client.stream().wait(true, false, until).code(), Code::deadline_exceeded);
}

}  // namespace
}  // namespace ob::test
